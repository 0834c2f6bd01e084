(* SPDX-License-Identifier: GPL-2.0-or-later *)
(* Report: ocaml/ocaml#12300, #6902. An out_channel with unwritten bytes that becomes garbage is kept by the runtime, with
   its buffer of 64 KiB. `fixed`: it is closed.

   kind: native memory of OCaml
   flags: unix.cmxa
   leak ocaml-channels: leak
     part: native-blocks|managed-objects|live
     code: send
     near: caml_
   healthy ocaml-channels-closed: fixed
*)
let fixed = Array.length Sys.argv > 1 && Sys.argv.(1) = "fixed"

let send fd =
  let channel = Unix.out_channel_of_descr (Unix.dup fd) in
  output_string channel "message";
  (try flush channel with Sys_error _ -> ());
  if fixed then close_out_noerr channel else Unix.close (Unix.descr_of_out_channel channel)

let () =
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  let a, b = Unix.socketpair Unix.PF_UNIX Unix.SOCK_STREAM 0 in
  Unix.close b;
  while true do send a; Unix.sleepf 0.05; Gc.full_major () done
