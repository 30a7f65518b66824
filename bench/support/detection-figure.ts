import type { Outcome } from './detection-run.ts'

/** One line of the figure: a kind of link under one set of options, threshold by threshold. */
export interface Curve {
  readonly label: string
  readonly colour: string
  readonly dashed: boolean
  /** Whether its marks are named: one curve's are enough. */
  readonly named: boolean
  readonly outcomes: readonly Outcome[]
}

export interface Figure {
  readonly title: string
  readonly curves: readonly Curve[]
  /** Thresholds to mark on the solid curves, with what they are called. */
  readonly marks: ReadonlyMap<number, string>
  /** Fewer false alarms per day than this cannot be seen in a run of this length. */
  readonly floorPerDay: number
}

const [WIDTH, HEIGHT] = [860, 520]
const [LEFT, RIGHT, TOP, BOTTOM] = [80, 240, 48, 64]
const MAX_SECONDS = 9
const MAX_PER_DAY = 100_000

/** Detection time against false alarms, as an SVG without any script or font. Curves that reach the bottom had no false alarm. */
export function drawFigure(figure: Figure): string {
  const x = (seconds: number): number => LEFT + (seconds / MAX_SECONDS) * (WIDTH - LEFT - RIGHT)
  const decades = Math.log10(MAX_PER_DAY / figure.floorPerDay)
  const y = (perDay: number): number => {
    const height = Math.log10(Math.max(perDay, figure.floorPerDay) / figure.floorPerDay) / decades
    return HEIGHT - BOTTOM - Math.min(1, height) * (HEIGHT - TOP - BOTTOM)
  }
  const parts = [...axes(x, y, figure), ...figure.curves.flatMap((curve, index) => drawCurve(curve, index, x, y, figure.marks))]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${figure.title}" font-family="sans-serif" font-size="12" fill="#222">`,
    `<title>${figure.title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(LEFT, 24, figure.title, 'font-size="15"'),
    ...parts,
    '</svg>',
    ''
  ].join('\n')
}

type Scale = (value: number) => number

function axes(x: Scale, y: Scale, { floorPerDay }: Figure): string[] {
  const parts: string[] = []
  for (let seconds = 0; seconds <= MAX_SECONDS; seconds++) {
    parts.push(line(x(seconds), TOP, x(seconds), HEIGHT - BOTTOM, '#eee'), text(x(seconds), HEIGHT - BOTTOM + 18, `${seconds} s`, MIDDLE))
  }
  for (let exponent = Math.ceil(Math.log10(floorPerDay)); 10 ** exponent <= MAX_PER_DAY; exponent++) {
    const perDay = 10 ** exponent
    parts.push(
      line(LEFT, y(perDay), WIDTH - RIGHT, y(perDay), '#eee'),
      text(LEFT - 8, y(perDay) + 4, perDay.toLocaleString('en'), 'text-anchor="end"')
    )
  }
  parts.push(
    text(LEFT - 8, y(0) + 4, 'none', 'text-anchor="end"'),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 20, 'from crash to detection, mean', MIDDLE),
    text(
      20,
      (TOP + HEIGHT - BOTTOM) / 2,
      'false alarms per peer and day',
      `${MIDDLE} transform="rotate(-90 20 ${(TOP + HEIGHT - BOTTOM) / 2})"`
    ),
    line(LEFT, TOP, LEFT, HEIGHT - BOTTOM, '#222'),
    line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, '#222')
  )
  return parts
}

function drawCurve({ label, colour, dashed, named, outcomes }: Curve, index: number, x: Scale, y: Scale, marks: Figure['marks']): string[] {
  const points = outcomes.map(({ threshold, falseAlarmsPerDay, detectionMs }) => ({
    threshold,
    x: x(detectionMs.mean / 1_000),
    y: y(falseAlarmsPerDay)
  }))
  const stroke = `fill="none" stroke="${colour}" stroke-width="2"${dashed ? ' stroke-dasharray="5 4"' : ''}`
  const path = points.map(point => `${round(point.x)},${round(point.y)}`).join(' ')
  const legendY = TOP + 10 + 22 * index
  const parts = [
    `<polyline points="${path}" ${stroke}/>`,
    `<line x1="${WIDTH - RIGHT + 16}" y1="${legendY}" x2="${WIDTH - RIGHT + 44}" y2="${legendY}" ${stroke}/>`,
    text(WIDTH - RIGHT + 52, legendY + 4, label)
  ]
  for (const point of dashed ? [] : points) {
    const mark = marks.get(point.threshold)
    if (mark !== undefined) {
      parts.push(`<circle cx="${round(point.x)}" cy="${round(point.y)}" r="5" fill="${colour}"><title>${label}: ${mark}</title></circle>`)
      parts.push(...(named ? [text(point.x + 6, point.y - 8, mark)] : []))
    }
  }
  return parts
}

const MIDDLE = 'text-anchor="middle"'

function line(x1: number, y1: number, x2: number, y2: number, stroke: string): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${stroke}"/>`
}

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${content}</text>`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
