/** Milliseconds on the machine's monotonic clock: the same number in every process of this machine, with microseconds behind the point. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
