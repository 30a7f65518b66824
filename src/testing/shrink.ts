/**
 * The smallest part of a list that still fails: takes out halves, then quarters, and so on down to single items, as long as that helps
 * (Zeller and Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, TSE 2002, in its plain form).
 *
 * @param fails runs the thing with the given items; must give the same answer for the same items
 * @param maxRuns ends the search after so many runs. Default 300
 */
export async function shrinkList<T>(items: readonly T[], fails: (items: readonly T[]) => Promise<boolean>, maxRuns = 300): Promise<T[]> {
  let best = [...items]
  let runs = 0
  for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    let start = 0
    while (start < best.length && runs < maxRuns) {
      const without = [...best.slice(0, start), ...best.slice(start + size)]
      runs++
      if (await fails(without)) {
        best = without
      } else {
        start += size
      }
    }
  }
  return best
}
