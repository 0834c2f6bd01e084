(* SPDX-License-Identifier: GPL-2.0-or-later *)
(* A workload (tests/workloads/workload.h) of OCaml 5: fibres MODE. Tasks wait, each on a stack of its
   own that holds a buffer; two domains wait, too; what a third one left has no domain any more.
   "busy": the domains allocate all the time. *)

open Effect
open Effect.Deep

type _ Effect.t += Wait : unit Effect.t

let tasks = 40
let waiting : (unit, unit) continuation list ref = ref []
let left : int64 array list ref = ref []
let stop = Atomic.make false

let task i () =
  let buffer = Array.make 1000 (float_of_int i) in
  perform Wait;
  ignore (Sys.opaque_identity buffer.(i))

let start i =
  try_with (task i) ()
    { effc = fun (type a) (e : a Effect.t) ->
        match e with
        | Wait -> Some (fun (k : (a, _) continuation) -> waiting := k :: !waiting)
        | _ -> None }

let idle lock condition () =
  let boxed = Array.init 100 Int32.of_int in
  Mutex.lock lock;
  while not (Atomic.get stop) do Condition.wait condition lock done;
  Mutex.unlock lock;
  ignore (Sys.opaque_identity boxed)

let busy () =
  let kept = ref [] in
  while not (Atomic.get stop) do
    kept := [];
    for i = 1 to 10000 do kept := (i, string_of_int i) :: !kept done
  done;
  ignore (Sys.opaque_identity !kept)

let () =
  let lock = Mutex.create () and condition = Condition.create () in
  for i = 1 to tasks do start i done;
  let leaver = Domain.spawn (fun () -> Array.init 5000 Int64.of_int) in
  left := [Domain.join leaver];
  let work = if Sys.argv.(1) = "busy" then busy else idle lock condition in
  let domains = List.init 2 (fun _ -> Domain.spawn work) in
  if Sys.argv.(1) <> "busy" then (Gc.full_major (); Gc.full_major ());
  Printf.printf "ready\n%!";
  (try while read_line () <> "quit" do () done with End_of_file -> ());
  Mutex.lock lock;
  Atomic.set stop true;
  Condition.broadcast condition;
  Mutex.unlock lock;
  List.iter Domain.join domains;
  List.iter (fun k -> continue k ()) !waiting
