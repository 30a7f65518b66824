/** Builds the package: dist/ from src/, with types. `npm run build`. */

import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
// What package.json promises: `exports` and `bin`.
const promised = [
  'index.js',
  'index.d.ts',
  'crdt/index.js',
  'net/gateway/index.js',
  'net/libp2p/index.js',
  'testing/index.js',
  'cli/main.js',
  'cli/sim/worker.js'
]
// The live page: its modules are compiled as all others are, the rest is copied.
const page = join('net', 'gateway', 'page', 'browser')
const copied = readdirSync(join(root, 'src', page)).filter(name => /\.(html|css|svg)$/.test(name))

// Emptied first: a file whose source is gone must not be published.
rmSync(dist, { recursive: true, force: true })
const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' })
for (const name of existsSync(join(dist, page)) ? copied : []) {
  copyFileSync(join(root, 'src', page, name), join(dist, page, name))
}
const missing = [...promised, ...[...copied, 'page.js'].map(name => join(page, name))].filter(file => !existsSync(join(dist, file)))
if (status !== 0 || missing.length > 0) {
  console.error(status !== 0 ? 'the compiler found errors' : `the compiler wrote no ${missing.join(', ')}`)
  process.exitCode = 1
}
