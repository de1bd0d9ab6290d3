import * as abi from "./abi";
import { Submission } from "./shared";

/** OP_ALLOCATE: which of a topic's queues, all in order, belong to this client. */
export function allocate(entry: Submission): void {
  const queues = entry.handle, clients = entry.len, index = entry.token;
  if (<i32> entry.flags != abi.STRATEGY_AVG || index >= clients) {
    entry.result = abi.E_BAD_ARGUMENT;
    return;
  }
  averagely(entry, queues, clients, index);
  entry.result = 0;
}

/** AVG: neighbours in order; the first `queues % clients` clients take one queue more. */
function averagely(share: Submission, queues: u32, clients: u32, index: u32): void {
  const each = queues / clients;
  const extra = queues % clients;
  share.ptr = index * each + min(index, extra);
  share.len = each + <u32> (index < extra);
}
