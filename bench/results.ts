import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FigureJson } from './figure.ts'
import { drawPlot, type Plot } from './plot.ts'

/** Stores the latest figure of each name in `figures.json`. */
export async function saveFigures(folder: string, figures: readonly FigureJson[]): Promise<void> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'figures.json')
  const kept = new Map<string, FigureJson>()
  for (const figure of [...(await readFigures(file)), ...figures]) kept.set(figure.name, figure)
  await writeFile(file, `${JSON.stringify([...kept.values()], null, 2)}\n`)
}

async function readFigures(file: string): Promise<FigureJson[]> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Writes a plot beside the figures. */
export async function savePlot(folder: string, name: string, plot: Plot): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name}.svg`), drawPlot(plot))
}
