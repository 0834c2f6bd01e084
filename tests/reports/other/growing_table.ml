(* SPDX-License-Identifier: GPL-2.0-or-later *)
(* A Hashtbl of sessions that only grows. `bounded`: the oldest goes at 2,000.

   kind: OCaml objects
   flags: unix.cmxa
   leak ocaml-table: leak
     part: managed-objects
     code: Growing_table|[Ss]ession|Hashtbl|Cons|string
   healthy ocaml-table-bounded: bounded
     warm: 25
*)
type session = { number : int; user : string; body : Bytes.t }

let sessions : (int, session) Hashtbl.t = Hashtbl.create 16
let bounded = Array.length Sys.argv > 1 && Sys.argv.(1) = "bounded"

let remember number =
  Hashtbl.replace sessions number
    { number; user = "user " ^ string_of_int number; body = Bytes.make 500 'b' };
  if bounded then Hashtbl.remove sessions (number - 2000)

let () =
  let number = ref 0 in
  while true do
    for _ = 1 to 10 do incr number; remember !number done;
    Unix.sleepf 0.05
  done
