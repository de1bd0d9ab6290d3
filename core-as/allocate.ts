// Which of a topic's queues belong to one client, for the strategies that only count. Queues and clients are in order, and
// every client comes to its own share alone.

import * as abi from "./abi";
import { Submission } from "./shared";

/** OP_ALLOCATE. */
export function allocate(entry: Submission): void {
  const queues = entry.handle, clients = entry.len, index = entry.token;
  if (index >= clients) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  entry.result = 0;
  entry.token = 1;
  entry.value = -1;
  switch (<i32> entry.flags) {
    case abi.STRATEGY_AVG:
      return averagely(entry, queues, clients, index);
    case abi.STRATEGY_AVG_BY_CIRCLE:
      return inTurn(entry, queues, clients, index);
    case abi.STRATEGY_MACHINE_ROOM:
      return byMachineRoom(entry, queues, clients, index);
    default:
      entry.result = abi.E_BAD_ARGUMENT;
  }
}

/** AVG: neighbours in order; the first `queues % clients` clients take one queue more. */
function averagely(share: Submission, queues: u32, clients: u32, index: u32): void {
  const each = queues / clients;
  const extra = queues % clients;
  share.ptr = index * each + min(index, extra);
  share.len = each + <u32> (index < extra);
}

/** AVG_BY_CIRCLE: dealt out one by one. */
function inTurn(share: Submission, queues: u32, clients: u32, index: u32): void {
  share.ptr = index;
  share.len = index < queues ? (queues - 1 - index) / clients + 1 : 0;
  share.token = clients;
}

/** MACHINE_ROOM: neighbours in order, the same number for each; what is left over is dealt out one by one. */
function byMachineRoom(share: Submission, queues: u32, clients: u32, index: u32): void {
  const each = queues / clients;
  share.ptr = index * each;
  share.len = each;
  if (index < queues % clients) share.value = <f64> (each * clients + index);
}
