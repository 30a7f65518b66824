import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Bench } from './harness.ts'
import { createReport, formatReport } from './harness.ts'

/*
 * npm run bench                                      lists the benches
 * npm run bench -- NAME [--json] [--check] [--quick] runs one
 */

const OWN_FILES = ['harness.ts', 'index.ts']

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false }
    }
  })
  const names = benchNames()
  const [name] = positionals
  if (name === undefined) {
    for (const each of names) {
      console.log(`${each.padEnd(16)} ${(await load(each)).description}`)
    }
    return 0
  }
  if (!names.includes(name)) {
    console.error(`There is no bench "${name}", allowed is one of: ${names.join(', ')}`)
    return 2
  }
  const bench = await load(name)
  const report = createReport(bench, await bench.run({ quick: values.quick }))
  console.log(values.json ? JSON.stringify(report) : formatReport(report))
  const short = report.rows.filter(row => row.ok === false)
  if (values.check && short.length > 0) {
    console.error(`${short.length} of the rows fall short of their bar: ${short.map(row => row.name).join('; ')}`)
    return 1
  }
  return 0
}

function benchNames(): string[] {
  const files = readdirSync(import.meta.dirname, { withFileTypes: true })
  return files
    .filter(file => file.isFile() && file.name.endsWith('.ts') && !OWN_FILES.includes(file.name))
    .map(file => file.name.slice(0, -'.ts'.length))
    .sort()
}

async function load(name: string): Promise<Bench> {
  return (await import(`./${name}.ts`)) as Bench
}

const status = await main()
// Not left to Node: with many sockets destroyed in mid-flight, Node 26 now and then never finishes its own teardown.
process.stdout.write('', () => process.exit(status))
