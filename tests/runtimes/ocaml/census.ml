(* SPDX-License-Identifier: GPL-2.0-or-later *)
(* A workload (tests/workloads/workload.h) that knows its own blocks, for OCaml in native code:
   census MODE, of "leaking" and "fixed". *)

let words value = Obj.reachable_words (Obj.repr value)

let truth mode =
  Gc.full_major ();
  let stat = Gc.stat () in
  Printf.printf
    "{\"version\":\"%s\",\"mode\":\"%s\",\"live_words\":%d,\"live_blocks\":%d,\
     \"reachable\":{\"Feeds[0]\":%d,\"Feeds[1]\":%d,\"Feeds[2]\":%d,\"Feeds[3]\":%d},\
     \"feed_words\":%d,\"open_feeds\":%d}\n%!"
    Sys.ocaml_version mode stat.Gc.live_words stat.Gc.live_blocks (words Feeds.cache)
    (words Feeds.errors) (words Feeds.counters) (words Feeds.boxed) (words (Feeds.make 1))
    !Feeds.open_feeds

let () =
  let mode = Sys.argv.(1) in
  let subscribe = if mode = "leaking" then Feeds.subscribe_leaking else Feeds.subscribe_fixed in
  for i = 1 to 501 do subscribe i done;
  for i = 1 to 30 do Feeds.keep i done;
  for i = 1 to 21 do Feeds.fail i done;
  Gc.full_major ();
  Gc.full_major ();
  Printf.printf "ready\n%!";
  try
    while true do
      match read_line () with
      | "truth" -> truth mode
      | "quit" -> raise End_of_file
      | _ -> ()
    done
  with End_of_file -> ()
