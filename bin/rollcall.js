#!/usr/bin/env node
// biome-ignore-all lint: any Node since 12 has to parse this file, so that one too old can say so instead of failing on newer syntax.
import fs from 'fs'

var parts = process.versions.node.split('.').map(Number)
var built = new URL('../dist/cli/main.js', import.meta.url)
var isBuilt = fs.existsSync(built)
// The sources are TypeScript, which Node runs by itself since 22.18.
var oldest = isBuilt ? [22, 0] : [22, 18]

if (parts[0] < oldest[0] || (parts[0] === oldest[0] && parts[1] < oldest[1])) {
  console.error(
    'rollcall needs Node ' + oldest.join('.') + ' or newer; this is Node ' + process.versions.node + ' (' + process.execPath + ')'
  )
  process.exitCode = 2
} else {
  import(isBuilt ? built : new URL('../src/cli/main.ts', import.meta.url)).catch(function (error) {
    console.error('rollcall could not start: ' + error.message)
    process.exitCode = 1
  })
}
