/** The process of `rollcall`: runs one command, prints what a person has to know of an error, sets the exit status. */

import { CommanderError } from 'commander'
import pc from 'picocolors'
import { commands } from './commands/index.ts'
import { EXIT, messageOf } from './errors.ts'
import { createProgram } from './program.ts'
import { packageVersion } from './version.ts'

// A reader that has seen enough (`rollcall who x | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') {
    process.exit(EXIT.ok)
  }
  throw error
})

try {
  await createProgram(commands, packageVersion()).parseAsync(process.argv)
  // Not left to Node: with many sockets destroyed in mid-flight, Node 26 now and then never finishes its own teardown.
  process.stdout.write('', () => process.exit())
} catch (error) {
  // At once: half of a replica may be running.
  process.exit(report(error))
}

function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has printed it, with a suggestion.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  }
  const { exitCode } = error as { exitCode?: unknown }
  if (typeof exitCode === 'number') {
    console.error(`${pc.red('rollcall:')} ${messageOf(error)}`)
    return exitCode
  }
  // Nobody's mistake but ours: here a stack helps.
  console.error(`${pc.red('rollcall: this is a bug, please report it:')} ${error instanceof Error ? error.stack : String(error)}`)
  return EXIT.failed
}
