(* SPDX-License-Identifier: GPL-2.0-or-later *)

type item = { number : int; list : int array }

let () =
  let count = int_of_string Sys.argv.(1) / 2 in
  let kept = Array.init count (fun n -> { number = n; list = [| n; n + 1 |] }) in
  let longest = ref 0. in
  let before = ref (Unix.gettimeofday ()) in
  let beat () =
    let now = Unix.gettimeofday () in
    longest := max !longest (now -. !before);
    before := now
  in
  let answer line =
    if line = "" then begin
      Printf.printf "%f\n%!" !longest;
      longest := 0.
    end
    else begin
      ignore (Gc.stat ());
      beat ();
      print_endline "done"
    end
  in
  print_endline "ready";
  (try
     while true do
       (match Unix.select [ Unix.stdin ] [] [] 0.001 with [], _, _ -> () | _ -> answer (input_line stdin));
       beat ()
     done
   with End_of_file -> ());
  ignore (Sys.opaque_identity kept.(0).number, kept.(0).list)
