(* SPDX-License-Identifier: GPL-2.0-or-later *)
(* A workload (tests/workloads/workload.h) that knows its own blocks, for OCaml in native code:
   census MODE, of "leaking" and "fixed"; "busy": as "leaking", and allocates until it is killed. *)

let words value = Obj.reachable_words (Obj.repr value)

(* Without the constructor and the text, which OCaml 5 counts though they are static data. *)
let error_words () =
  match !Feeds.errors with
  | (Feeds.Broken (text, _) as error) :: _ ->
    words Feeds.errors - words (Obj.Extension_constructor.of_val error) - words text
  | _ -> words Feeds.errors

(* Likewise without the one function that all of them are partial applications of. *)
let counter_words () =
  words Feeds.counters - if Sys.ocaml_version >= "5" then 4 else 0

let truth mode =
  Gc.full_major ();
  let stat = Gc.stat () in
  Printf.printf
    "{\"version\":\"%s\",\"mode\":\"%s\",\"live_words\":%d,\"live_blocks\":%d,\
     \"reachable\":{\"Feeds[0]\":%d,\"Feeds[1]\":%d,\"Feeds[2]\":%d,\"Feeds[3]\":%d},\
     \"feed_words\":%d,\"open_feeds\":%d}\n%!"
    Sys.ocaml_version mode stat.Gc.live_words stat.Gc.live_blocks (words Feeds.cache)
    (error_words ()) (counter_words ()) (words Feeds.boxed) (words (Feeds.make 1))
    !Feeds.open_feeds

(* Garbage, some of which lives until it is in the major heap. *)
let rec churn () =
  let kept = ref [] in
  for i = 1 to 10000 do kept := (i, string_of_int i, ref i) :: !kept done;
  ignore (Sys.opaque_identity !kept);
  churn ()

let () =
  let mode = Sys.argv.(1) in
  let subscribe = if mode = "fixed" then Feeds.subscribe_fixed else Feeds.subscribe_leaking in
  for i = 1 to 1001 do subscribe i done;
  for i = 1 to 30 do Feeds.keep i done;
  for i = 1 to 21 do Feeds.fail i done;
  Gc.full_major ();
  Gc.full_major ();
  Printf.printf "ready\n%!";
  if mode = "busy" then churn ();
  try
    while true do
      match read_line () with
      | "truth" -> truth mode
      | "more" ->
        for i = 1 to 300 do subscribe i done;
        Gc.full_major ();
        Printf.printf "done\n%!"
      | "quit" -> raise End_of_file
      | _ -> ()
    done
  with End_of_file -> ()
