(* SPDX-License-Identifier: GPL-2.0-or-later *)
(* A server's feeds, each with a buffer. A finaliser is to close a feed that nobody uses any more. A
   function that has the feed in its environment keeps it for ever: finalisers' functions are
   roots. *)

type feed = { name : string; buffer : float array; mutable closed : bool }

exception Broken of string * int

let cache : (int, feed) Hashtbl.t = Hashtbl.create 16
let errors : exn list ref = ref []
let counters : (unit -> int) array = Array.init 77 (fun i () -> i * 3)
let boxed : int64 array = Array.init 123 Int64.of_int
let open_feeds = ref 0

let make i = { name = "feed " ^ string_of_int i; buffer = Array.make 128 0.5; closed = false }

let close feed =
  if not feed.closed then (feed.closed <- true; decr open_feeds)

let subscribe_leaking i =
  let feed = make i in
  incr open_feeds;
  Gc.finalise (fun (_ : feed) -> close feed) feed

let subscribe_fixed i =
  let feed = make i in
  incr open_feeds;
  Gc.finalise close feed

let keep i = Hashtbl.replace cache i (make i)
let fail i = errors := Broken ("feed", i) :: !errors
