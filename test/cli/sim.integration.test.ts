import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { SimReport } from '../../src/cli/sim/report.ts'
import { CliProcess, runCli } from './support/run-cli.ts'

const out = mkdtempSync(join(tmpdir(), 'rollcall-sim-'))

afterAll(() => rmSync(out, { recursive: true, force: true }))

describe('rollcall sim', () => {
  test('three processes, a kill and a cut: no ghost, no loss, all equal to the oracle; report.json and one page', async () => {
    const args = ['sim', '--replicas', '3', '--for', '6s', '--grace', '1s', '--users', '60', '--rate', '60']
    const outcome = await runCli([...args, '--faults', 'kill,cut', '--fault-every', '3s', '--out', out, '--json'])
    const report = JSON.parse(outcome.stdout) as SimReport
    expect(report.checks.filter(check => !check.ok)).toEqual([])
    expect(outcome.status).toBe(0)
    expect(JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))).toEqual(report)
    expect(report.numbers.operations).toBeGreaterThan(100)
    expect(report.measures.joins.count + report.measures.joinsUnderFaults.count).toBeGreaterThan(50)
    expect(report.faults.map(fault => fault.kind).sort()).toEqual(['cut', 'kill'])
    const page = readFileSync(join(out, 'report.html'), 'utf8')
    expect(page).toMatch(/all checks passed/)
    expect(page.match(/<svg/g)?.length).toBeGreaterThanOrEqual(5)
    expect(page).not.toMatch(/(src|href)=|https?:|@import|NaN|undefined/)
  })

  test('a trace, and Ctrl-C: ends with status 130, all processes gone', async () => {
    const trace = join(out, 'trace.csv')
    writeFileSync(trace, 'ms,topic,user,event\n0,room,ada,join\n100000000,room,ada,leave\n')
    const running = new CliProcess(['sim', '--replicas', '2', '--trace', trace, '--speed', '1', '--faults', 'none', '--out', out])
    while (!/running/.test(running.stderr)) {
      await new Promise(resolve => running.child.stderr?.once('data', resolve))
    }
    running.child.kill('SIGINT')
    const outcome = await running.ended()
    expect(outcome.status).toBe(130)
    expect(outcome.stderr).not.toMatch(/^\s+at /m)
  })
})

describe('rollcall demo', () => {
  test('--for: ends by itself with status 0', async () => {
    const outcome = await runCli(['demo', '--for', '3s'])
    expect(outcome).toMatchObject({ status: 0, stderr: '' })
    expect(outcome.stdout).toMatch(/Three servers run[\s\S]*ended before a server was broken/)
  })

  test('tells what happens; Ctrl-C ends it with status 0', async () => {
    const running = new CliProcess(['demo'])
    await running.printed(/b is killed, as by kill -9/)
    await running.printed(/noticed after .*: its people are shown as unknown, not as gone/)
    running.child.kill('SIGINT')
    expect(await running.ended()).toMatchObject({ status: 0, stderr: '' })
  })
})
