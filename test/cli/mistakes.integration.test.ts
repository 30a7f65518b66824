import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { runCli } from './support/run-cli.ts'

const state = mkdtempSync(join(tmpdir(), 'rollcall-mistakes-'))

afterAll(() => rmSync(state, { recursive: true, force: true }))

describe('rollcall: a user’s mistake', () => {
  test.each([
    [['serve', '--grace', '15'], 2, /^rollcall: --grace is 15, allowed: a duration/],
    [['serve', '--grac', '15s'], 2, /unknown option '--grac'\n\(Did you mean --grace\?\)/],
    [['serve', '--ttl', '1s'], 2, /--ttl \(1000\) must be at least twice --heartbeat-interval/],
    [['serve', '--listen', '/ip4/0.0.0.0/tcp/0'], 2, /is not a loopback address.*--allow/],
    [['serve', '--control', '10.0.0.1:80'], 2, /ssh -L/],
    [['serve', '--gateway', '0.0.0.0:7480'], 2, /allowed with --gateway-auth open is the loopback only; give --gateway-auth jwt/],
    [['serve', '--gateway', 'here'], 2, /--gateway is here, allowed is HOST:PORT .* or none/],
    [['serve', '--gateway-auth', 'jwt'], 2, /needs one of --jwt-secret-file and --jwt-public-key/],
    [['serve', '--gateway-auth', 'jwt', '--jwt-secret-file', '/no/such'], 2, /--jwt-secret-file \/no\/such: there is no such file/],
    [['sim', '--trace', '/no/such/trace.csv'], 2, /there is no such file/],
    [['who', 'room'], 3, /no replica named "main" runs on this machine; start one with: rollcall serve/],
    [['who'], 2, /missing required argument 'topic'/],
    [['dance'], 2, /unknown command 'dance'/]
  ])('%j: status %d, one message that says what to do, no stack', async (args, status, message) => {
    const outcome = await runCli(args, { ROLLCALL_STATE: state })
    expect(outcome.stderr).toMatch(message)
    expect(outcome.stderr).not.toMatch(/^\s+at /m)
    expect(outcome.stderr.trim().split('\n').length).toBeLessThanOrEqual(3)
    expect(outcome).toMatchObject({ status, stdout: '' })
  })

  test('--help and --version: on standard output, status 0', async () => {
    const help = await runCli(['--help'])
    expect(help).toMatchObject({ status: 0, stderr: '' })
    for (const command of 'serve demo sim nodes topics who count watch user doctor kick forget drain'.split(' ')) {
      expect(help.stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'))
    }
    expect((await runCli(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+/)
    expect((await runCli(['serve', '--help'])).stdout).toMatch(/--flush-window <duration>.*\(default 20ms\)/s)
  })
})
