import pc from 'picocolors'
import { resolveCommand } from '../config.ts'
import { Demo } from '../demo/demo.ts'
import { Screen } from '../demo/screen.ts'
import { type DemoView, renderView, storyLines } from '../demo/view.ts'
import { DEMO } from '../setting-tables.ts'
import { plural } from '../tables.ts'

const STATUS_EVERY_MS = 5_000

/** Runs the demo until Ctrl-C or the end of `--for`; status 0 either way. */
export async function demo(flags: Record<string, unknown>): Promise<void> {
  const { settings } = resolveCommand(DEMO, flags)
  const end = new AbortController()
  const onSignal = (): void => {
    if (end.signal.aborted) {
      process.exit(0)
    }
    end.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  const screen = process.stdout.isTTY && !settings.plain ? new Screen(process.stdout) : undefined
  if (screen === undefined) {
    console.log('starting three servers, each its own process, no database between them')
  }
  const plain = new PlainLines()
  const running = new Demo({
    users: settings.users,
    seed: settings.seed,
    runMs: settings.for,
    signal: end.signal,
    draw: view => (screen === undefined ? plain.status(view) : screen.draw(renderView(view, screen.width, screen.height))),
    tell: sentence => {
      if (screen === undefined) {
        console.log(storyLines(sentence, 100).join('\n'))
      }
    }
  })
  try {
    await running.run()
  } finally {
    screen?.close()
  }
  console.log(summarize(running.narrator))
  console.log(pc.dim('next: rollcall sim --replicas 5 (faults, checked against an oracle) · rollcall serve --help'))
}

function summarize({ kills, shownLeaving }: Demo['narrator']): string {
  if (kills === 0) {
    return 'ended before a server was broken'
  }
  const outcome =
    shownLeaving === 0
      ? pc.green('nobody was shown as leaving who was there')
      : pc.red(`${shownLeaving} were shown as leaving who were there`)
  return `${plural(kills, 'server')} broken on the way: ${outcome}`
}

/** Where there is no terminal: the address of the live page, then a line of numbers now and then. */
class PlainLines {
  #nextMs = STATUS_EVERY_MS
  #hasPage = false

  status({ elapsedMs, page, replicas, topics, agree }: DemoView): void {
    if (page !== undefined && !this.#hasPage) {
      this.#hasPage = true
      console.log(`live page at ${page}`)
    }
    if (elapsedMs < this.#nextMs || topics.size === 0) {
      return
    }
    this.#nextMs = elapsedMs + STATUS_EVERY_MS
    const rooms = [...topics].map(([topic, people]) => `#${topic} ${people.length}`).join('  ')
    const asked = replicas.filter(row => row.listed !== undefined).length
    console.log(
      pc.dim(
        `        ${asked} of ${replicas.length} servers answer${agree ? ', all list the same' : ', lists differ for the moment'}: ${rooms}`
      )
    )
  }
}
