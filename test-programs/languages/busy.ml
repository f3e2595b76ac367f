(* SPDX-License-Identifier: Apache-2.0 *)
module Table = Map.Make (String)

exception Found of int

let rec fibonacci n = if n < 2 then n else fibonacci (n - 1) + fibonacci (n - 2)

let words n =
  let add table i =
    Table.update (Printf.sprintf "word %d" (i mod 997))
      (function None -> Some 1 | Some count -> Some (count + 1)) table in
  let table = List.fold_left add Table.empty (List.init n Fun.id) in
  List.length (List.sort compare (Table.bindings table))

let rec descend n = if n = 0 then words 500 + fibonacci 20 else 1 + descend (n - 1)
let rec raise_at n = if n = 0 then raise (Found 1) else 1 + raise_at (n - 1)

let () =
  while true do
    ignore (Sys.opaque_identity (descend 100));
    ignore (try raise_at 100 with Found n -> n)
  done
