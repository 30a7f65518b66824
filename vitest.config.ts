import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // One per core of the smallest machine that these run on: by default one core is left idle, and the longest files mostly wait.
    maxWorkers: 2,
    testTimeout: 180_000
  }
})
