(* SPDX-License-Identifier: GPL-2.0-or-later *)
(* A program under load that checks itself; what it reads and writes: see ../no_harm.py. *)

type node = { number : int; text : string }

let counts : (string, int) Hashtbl.t = Hashtbl.create 16
let wrong : (string, int) Hashtbl.t = Hashtbl.create 16
let alone : (string, int) Hashtbl.t = Hashtbl.create 1024
let looked : (string, int) Hashtbl.t = Hashtbl.create 1024
let kept : (string, int * float array) Hashtbl.t = Hashtbl.create 1024
let phase = ref alone
let lock = Mutex.create ()
let all_signals = [ Sys.sigusr1; Sys.sigalrm; Sys.sigvtalrm; Sys.sigchld; Sys.sigpipe ]
let locked work = Mutex.lock lock; work (); Mutex.unlock lock
let count name table = try Hashtbl.find table name with Not_found -> 0
let set table name number = locked (fun () -> Hashtbl.replace table name number)
let add table name = locked (fun () -> Hashtbl.replace table name (count name table + 1))
let expect name right = if not right then add wrong name

(* A signal handler must not take the lock, for its thread may have it. *)
let signals = ref 0
let ticks = ref 0

let check_kept () =
  let right = ref 0 in
  for i = 0 to 999 do
    match Hashtbl.find_opt kept ("key " ^ string_of_int i) with
    | Some (number, values) when number = i && values.(i mod 5) = float i -> incr right
    | _ -> ()
  done;
  expect "planted objects" (!right = 1000);
  add counts "checks"

let rec chain length =
  List.fold_left (fun sum node -> sum + node.number + String.length node.text) 0
    (List.init length (fun i -> { number = i; text = string_of_int i }))

and finalised = ref 0

let rec allocate round =
  expect "new objects" (chain 20000 = 199990000 + 88890);
  let seen = Weak.create 1 in
  Weak.set seen 0 (Some (ref round));
  Gc.finalise (fun _ -> incr finalised) (ref round);
  add counts "rounds";
  if round mod 20 = 0 then begin
    Gc.full_major ();
    if round mod 100 = 0 then Gc.compact ();
    expect "garbage that stays" (not (Weak.check seen 0) && !finalised >= round - 1);
    set counts "collections" (Gc.quick_stat ()).major_collections;
    check_kept ()
  end;
  Thread.delay 0.002;
  allocate (round + 1)

(* EINTR among them: no signal reaches such a thread. *)
let start ?(has_signals = false) name work =
  let run () =
    if not has_signals then ignore (Thread.sigmask Unix.SIG_BLOCK all_signals);
    try work () with error -> add wrong (name ^ ": " ^ Printexc.to_string error)
  in
  ignore (Thread.create run ())

let data number = Bytes.init ((number * 37 mod 4000) + 1) (fun i -> Char.chr ((number + (i * 31)) land 255))

let rec write out number =
  let bytes = data number in
  expect "short write" (Unix.single_write out bytes 0 (Bytes.length bytes) = Bytes.length bytes);
  if number mod 20 = 0 then Unix.sleepf 0.005;
  write out (number + 1)

let rec read into number =
  let wanted = data number in
  let got = Bytes.create (Bytes.length wanted) in
  let rec fill from =
    if from < Bytes.length got then begin
      (match Unix.select [ into ] [] [] 60. with
      | [ _ ], _, _ -> ()
      | _ -> add wrong "select in vain");
      let size = Unix.read into got from (Bytes.length got - from) in
      expect "end of the stream" (size > 0);
      fill (from + size)
    end
  in
  fill 0;
  expect "received bytes" (Bytes.equal got wanted);
  add counts "received";
  read into (number + 1)

let rec wait () =
  let began = Unix.gettimeofday () in
  expect "select too early" (Unix.select [] [] [] 0.007 = ([], [], []));
  Unix.sleepf 0.007;
  Thread.delay 0.007;
  expect "waited too short" (Unix.gettimeofday () -. began >= 0.0209);
  add counts "waits";
  wait ()

let guard = Mutex.create ()
let filled = Condition.create ()
let items = Queue.create ()

let rec give number =
  Mutex.lock guard;
  Queue.add number items;
  Condition.signal filled;
  Mutex.unlock guard;
  Thread.delay 0.001;
  give (number + 1)

let rec take wanted =
  Mutex.lock guard;
  while Queue.is_empty items do
    Condition.wait filled guard
  done;
  let count = Queue.length items in
  for i = 0 to count - 1 do
    expect "items in order" (Queue.take items = wanted + i)
  done;
  Mutex.unlock guard;
  add counts "handed";
  take (wanted + count)

let rec beat before =
  Thread.delay 0.001;
  let now = Unix.gettimeofday () in
  add !phase (string_of_int (int_of_float ((now -. before) *. 1e5)));
  add counts "beats";
  beat now

let say text = expect "short line" (Unix.write_substring Unix.stdout text 0 (String.length text) = String.length text)

let json table =
  let part name number parts = Printf.sprintf "%S:%d" name number :: parts in
  "{" ^ String.concat "," (Hashtbl.fold part table []) ^ "}"

let answer () =
  set counts "signals" !signals;
  set counts "ticks" !ticks;
  let text = ref "" in
  locked (fun () ->
      text := Printf.sprintf "{\"counts\":%s,\"wrong\":%s,\"alone\":%s,\"looked\":%s}\n" (json counts) (json wrong)
          (json alone) (json looked));
  say !text

let rec listen () =
  match input_line stdin with
  | "truth" -> answer (); listen ()
  | line -> phase := if line = "alone" then alone else looked; listen ()
  | exception End_of_file -> exit 0

(* The only thread that signals reach; each ends its sleep. *)
let rec idle () =
  (try Unix.sleepf 10. with Unix.Unix_error (Unix.EINTR, _, _) -> ());
  idle ()

let () =
  for i = 0 to 999 do
    Hashtbl.replace kept ("key " ^ string_of_int i) (i, Array.make 5 (float i))
  done;
  let out, into = Unix.socketpair Unix.PF_UNIX Unix.SOCK_STREAM 0 in
  start "allocate" (fun () -> allocate 1);
  start "write" (fun () -> write out 0);
  start "read" (fun () -> read into 0);
  start "wait" wait;
  start "give" (fun () -> give 0);
  start "take" (fun () -> take 0);
  start "beat" (fun () -> beat (Unix.gettimeofday ()));
  start "listen" listen;
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> incr signals; say "s\n"));
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ -> incr ticks));
  ignore (Unix.setitimer Unix.ITIMER_REAL { it_interval = 0.005; it_value = 0.005 });
  say "ready\n";
  idle ()
