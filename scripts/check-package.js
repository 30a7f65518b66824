// Packs the package, installs the tarball into an empty project, imports every export and runs the command.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'rollcall-package-'))
const run = (command, args, cwd) => execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

try {
  const [{ filename, size, files }] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], root))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'empty', private: true, type: 'module' }))
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', join(folder, filename)], folder)
  const entries = Object.keys(exports).filter(entry => entry !== './package.json')
  const program = entries
    .map(
      entry =>
        `console.log(${JSON.stringify(entry)}, Object.keys(await import(${JSON.stringify(name + entry.slice(1))})).length, 'exports')`
    )
    .join('\n')
  writeFileSync(join(folder, 'imports.js'), program)
  process.stdout.write(run(process.execPath, ['imports.js'], folder))
  const help = run(process.execPath, [join(folder, 'node_modules', name, 'bin', 'rollcall.js'), '--help'], folder)
  if (!help.includes('serve')) {
    throw new Error(`rollcall --help does not tell of serve:\n${help}`)
  }
  console.log(`${filename}: ${files.length} files, ${Math.round(size / 1024)} KiB packed; every export imports, the command runs`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
