import { Command, Option } from 'commander'
import { CLIENT, DEMO, SERVE, SIM } from './setting-tables.ts'
import type { SettingTable } from './settings.ts'
import { envName, flagName } from './settings.ts'

/** Runs one command with its flags as given (never defaults) and its arguments. */
export type Run = (flags: Record<string, unknown>, ...operands: string[]) => Promise<void>

/** What each command does. Flags hold only what was given. */
export interface Commands {
  readonly serve: Run
  readonly demo: Run
  readonly sim: Run
  readonly nodes: Run
  readonly topics: Run
  readonly who: Run
  readonly watch: Run
  readonly user: Run
  readonly count: Run
  readonly kick: Run
  readonly forget: Run
  readonly drain: Run
  readonly doctor: Run
}

const EXAMPLES = `
Start here:
  rollcall demo                                     three replicas and some people, live in the terminal
  rollcall serve --name a                           one replica, with gateway, live page and control API on the loopback
  rollcall serve --name b --peers ADDRESS_OF_A      another one, which finds the first
  rollcall who room:1                               who is in a topic, as the replica sees it
  rollcall doctor ada                               why is ada online, which replica lags, is the clock or the loop late
  rollcall sim --replicas 5 --for 90s               real processes, real faults, checked against an oracle

Every flag can also be a variable (--flush-window is ROLLCALL_FLUSH_WINDOW) or a name in a JSON file (--config FILE, "flushWindow").
A flag wins over a variable, a variable over the file, the file over the default. docs/cli.md has all of them.

Exit status: 0 done, 1 a check failed or the replica refused, 2 a mistake in flags, variables or file, 3 no replica answered.`

/** The whole command line. Parsing calls one of `commands`; nothing is resolved or done here. */
export function createProgram(commands: Commands, version: string): Command {
  const program = new Command('rollcall')
    .description('Presence for app backends without a central store: who is here, across a fleet of servers.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this, or the help of a command')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', EXAMPLES)
    .showSuggestionAfterError()
    .showHelpAfterError('(rollcall --help, or rollcall help COMMAND, tells what there is)')
    .configureHelp({ helpWidth: Math.min(120, process.stdout.columns ?? 100), sortSubcommands: false })
    .exitOverride()
  const add = (spec: string, about: string, table: SettingTable, run: Run): Command => {
    const command = program.command(spec).description(about)
    addSettings(command, table)
    return command.action((...parsed: unknown[]) => {
      const self = parsed.at(-1) as Command
      return run(self.opts(), ...(self.processedArgs.filter(operand => operand !== undefined) as string[]))
    })
  }
  program.commandsGroup('Run:')
  add(
    'serve',
    'run one replica with a gateway for browsers, until SIGTERM (clients are sent elsewhere) or SIGINT (presences are held for the grace)',
    SERVE,
    commands.serve
  )
  add('demo', 'three replicas, some people, and a live view of who is where while replicas die and come back', DEMO, commands.demo)
  add('sim', 'many replicas as processes, a workload and faults; checks them against an oracle and writes a report', SIM, commands.sim)
  program.commandsGroup('Ask a running replica:')
  add('nodes', 'the replicas it knows: status, suspicion, lag', CLIENT, commands.nodes)
  add('topics [prefix]', 'topics with somebody in them, and how many', CLIENT, commands.topics)
  add('who <topic>', 'who is in a topic, on which replica, since when', CLIENT, commands.who)
  add('count <topic>', 'how many keys and presences a topic has', CLIENT, commands.count)
  add('watch <topic>', 'who comes and goes in a topic, as it happens; Ctrl-C ends it', CLIENT, commands.watch)
  add('user <id>', 'whether a user is online, by how many connections, and where', CLIENT, commands.user)
  add('doctor [user]', 'what is wrong and what to do; with a user: why he is online', CLIENT, commands.doctor)
  program.commandsGroup('Change a running replica:')
  add('kick <user>', "end a user's connections", CLIENT, commands.kick)
  add('forget <replica>', 'drop a dead replica and all it held, now and not after --permdown-after', CLIENT, commands.forget)
  add('drain', 'take no new connections, and send those of the gateway elsewhere, before a stop', CLIENT, commands.drain)
  return program
}

function addSettings(command: Command, table: SettingTable): void {
  for (const [name, { kind, fallback, help, group, hidden }] of Object.entries(table)) {
    const flag = flagName(name)
    const written = fallback === undefined ? '' : kind.write(fallback)
    const notes = [written !== '' && kind.placeholder !== '' ? `default ${written}` : '', hidden ? `better given as ${envName(name)}` : '']
    const note = notes.filter(text => text !== '').join('; ')
    const option = new Option(kind.placeholder === '' ? flag : `${flag} <${kind.placeholder}>`, note === '' ? help : `${help} (${note})`)
    if (kind.many) {
      option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value])
    }
    command.addOption(option.helpGroup(group))
    if (kind.placeholder === '' && fallback === true) {
      command.addOption(new Option(`--no-${flag.slice(2)}`).helpGroup(group))
    }
  }
  command.addOption(new Option('--config <file>', 'JSON file with settings, named as the flags in camelCase').helpGroup('Output:'))
}
