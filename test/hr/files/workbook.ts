import { crc32, deflateRawSync } from 'node:zlib'

/** A cell as its XML, such as `<c r="A1" t="n"><v>1</v></c>`; the test decides its content. */
export interface SheetXml {
  name: string
  rows: string[]
}

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/** A workbook as Excel writes one, as far as it is read. Styles: 0 plain, 1 a day, 2 a format with a year of its own, 3 a red number, 4 and 5 five
 * digits, 6 digits with a fraction; from 7 on `formats`. */
export function workbook(
  sheets: SheetXml[],
  {
    texts = [],
    date1904 = false,
    isPacked = false,
    formats = [],
    moreStyles = '',
  }: {
    texts?: string[]
    date1904?: boolean
    isPacked?: boolean
    formats?: string[]
    moreStyles?: string
  } = {},
): Buffer {
  const list = sheets.map(({ name }, i) => `<sheet name="${name}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`)
  const relations = sheets.map(
    (_, i) =>
      `<Relationship Id="rId${i + 1}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${i + 1}.xml"/>`,
  )
  const parts: [string, string][] = [
    [
      'xl/workbook.xml',
      `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><workbookPr${date1904 ? ' date1904="1"' : ''}/><sheets>${list.join('')}</sheets></workbook>`,
    ],
    [
      'xl/_rels/workbook.xml.rels',
      `<Relationships>${relations.join('')}<Relationship Id="s" Type="${RELATIONS}/sharedStrings" Target="/xl/sharedStrings.xml"/></Relationships>`,
    ],
    ['xl/sharedStrings.xml', `<sst xmlns="${MAIN}">${texts.map(text => `<si>${text}</si>`).join('')}</sst>`],
    [
      'xl/styles.xml',
      `<styleSheet xmlns="${MAIN}"><numFmts><numFmt numFmtId="164" formatCode="yyyy&quot;年&quot;m&quot;月&quot;d&quot;日&quot;"/>
       <numFmt numFmtId="165" formatCode="[Red]0.00&quot; days&quot;"/><numFmt numFmtId="166" formatCode="00000"/>
       <numFmt numFmtId="167" formatCode="00000;[Red]-00000;&quot;none&quot;"/><numFmt numFmtId="168" formatCode="000.00"/>${formats.map((code, i) => `<numFmt numFmtId="${169 + i}" formatCode="${code.replaceAll('"', '&quot;')}"/>`).join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
       <cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="167"/><xf numFmtId="168"/>${formats.map((_, i) => `<xf numFmtId="${169 + i}"/>`).join('')}${moreStyles}</cellXfs></styleSheet>`,
    ],
    ...sheets.map(({ rows }, i): [string, string] => [
      `xl/worksheets/sheet${i + 1}.xml`,
      `<worksheet xmlns="${MAIN}"><sheetData>${rows.map(row => `<row>${row}</row>`).join('')}</sheetData></worksheet>`,
    ]),
  ]
  return zip(
    parts.map(([name, xml]) => [name, Buffer.from(HEAD + xml)]),
    isPacked,
  )
}

function zip(parts: [name: string, content: Buffer][], isPacked: boolean): Buffer {
  const local: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const [name, content] of parts) {
    const title = Buffer.from(name)
    const stored = isPacked ? deflateRawSync(content) : content
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(20, 0)
    shared.writeUInt16LE(isPacked ? 8 : 0, 4)
    shared.writeUInt32LE(crc32(content), 10)
    shared.writeUInt32LE(stored.length, 14)
    shared.writeUInt32LE(content.length, 18)
    shared.writeUInt16LE(title.length, 22)
    local.push(Buffer.from('PK\x03\x04', 'latin1'), shared, title, stored)
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    central.push(Buffer.from('PK\x01\x02\x14\0', 'latin1'), shared, place, title)
    offset += 30 + title.length + stored.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(parts.length, 4)
  end.writeUInt16LE(parts.length, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...local, directory, Buffer.from('PK\x05\x06', 'latin1'), end])
}
