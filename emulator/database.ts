import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

const SCHEMA = `
  create table if not exists enterprises (
    enterprise_code text primary key,
    level integer not null,
    category integer not null,
    employee_attribute text not null
  ) without rowid;

  create table if not exists departments (
    enterprise_code text not null,
    dept_code text not null,
    dept_name text not null,
    parent_code text,
    base integer not null,
    primary key (enterprise_code, dept_code)
  ) without rowid;
  create index if not exists departments_by_code on departments (dept_code);
  create index if not exists departments_by_parent on departments (enterprise_code, parent_code);

  create table if not exists employees (
    enterprise_code text not null,
    userid text not null,
    corp_code text,
    name text,
    gender integer,
    card_type integer,
    card_no text,
    email text,
    mobile_area integer,
    mobile text,
    remark text,
    dept_code text,
    level text,
    category text,
    birth_day text,
    entry_day text,
    cost_center_id integer,
    employee_attribute text,
    in_service integer not null,
    time_created text,
    time_active text,
    corp_code_key text,
    email_key text,
    primary key (enterprise_code, userid)
  ) without rowid;
  create unique index if not exists employees_by_corp_code
    on employees (enterprise_code, corp_code_key) where in_service = 1;
  create unique index if not exists employees_by_email
    on employees (enterprise_code, email_key) where in_service = 1;
  create unique index if not exists employees_by_mobile_number
    on employees (enterprise_code, mobile) where in_service = 1;
  drop index if exists employees_by_mobile;
  create index if not exists employees_by_department on employees (enterprise_code, dept_code);

  create table if not exists openids (
    enterprise_code text not null,
    userid text not null,
    seller_appid text not null,
    open_userid text not null,
    primary key (enterprise_code, userid, seller_appid)
  ) without rowid;

  create table if not exists tokens (
    access_token text primary key,
    created_at integer not null,
    expires_at integer not null
  ) without rowid;
  create index if not exists tokens_by_creation on tokens (created_at);

  create table if not exists orders (
    trade_no text primary key,
    enterprise_code text not null,
    out_trade_no text unique,
    userid text,
    payer_name text,
    subject text,
    reason text,
    total_amount integer not null,
    pay_amount integer not null,
    refund_amount integer not null,
    status integer not null,
    create_time text not null,
    pay_time text,
    refund_time text,
    asset_code text not null,
    service_fee integer not null,
    commerce_order_detail text
  ) without rowid;
  create index if not exists orders_by_time on orders (enterprise_code, create_time, trade_no);

  create table if not exists refunds (
    outer_refund_no text primary key,
    outer_trade_no text not null,
    refund_amount integer not null,
    reason text,
    refund_time text not null
  ) without rowid;

  create table if not exists notifications (
    outer_refund_no text primary key,
    outer_trade_no text not null,
    refund_amount integer not null,
    trade_no text not null,
    url text not null,
    state text not null,
    first_at integer,
    next_at integer not null,
    attempts text not null
  ) without rowid;
  create index if not exists notifications_by_time on notifications (next_at) where state = 'pending';

  create table if not exists accounts (
    enterprise_code text not null,
    account_openid text not null,
    name text not null,
    product_category integer not null,
    balance integer not null,
    status integer not null,
    sub_limits text,
    primary key (enterprise_code, account_openid)
  ) without rowid;

  create table if not exists topups (
    external_code text primary key,
    enterprise_code text not null,
    account_openid text not null,
    amount integer not null,
    apply_charge_openid text not null,
    time_created text not null
  ) without rowid;

  create table if not exists taxpayers (
    enterprise_code text not null,
    identifier text not null,
    taxpayer_name text not null,
    taxpayer_nature integer not null,
    status integer not null,
    primary key (enterprise_code, identifier, taxpayer_name)
  ) without rowid;
`

/** What makes a platform more than empty: everything but tokens, which an empty one gives, too. */
const STATE_TABLES = [
  ...['enterprises', 'departments', 'employees', 'openids'],
  ...['orders', 'refunds', 'notifications', 'accounts', 'topups', 'taxpayers'],
]

/** A row as SQLite gives it: whole numbers for amounts and booleans, JSON for lists and objects. */
export type Stored<Item> = {
  [Name in keyof Item]: NonNullable<Item[Name]> extends object
    ? string | Extract<Item[Name], null>
    : Item[Name] extends bigint | boolean
      ? number
      : Item[Name]
}

/** A prepared statement that knows the type of its rows. */
export class Statement<Row> {
  readonly #statement: StatementSync

  constructor(statement: StatementSync) {
    this.#statement = statement
  }

  all(...values: SQLInputValue[]): Row[] {
    return this.#statement.all(...values) as Row[]
  }

  get(...values: SQLInputValue[]): Row | undefined {
    return this.#statement.get(...values) as Row | undefined
  }

  /** Answers how many rows changed. */
  run(...values: SQLInputValue[]): number {
    return Number(this.#statement.run(...values).changes)
  }
}

/** The emulator's state, in memory or in a file. */
export class Database {
  readonly #sqlite: DatabaseSync

  constructor(file: string | undefined) {
    this.#sqlite = new DatabaseSync(file ?? ':memory:')
    // A killed process loses nothing with this; only a machine that loses power may lose the last writes.
    this.#sqlite.exec('pragma journal_mode = wal; pragma synchronous = normal;')
    this.#sqlite.exec(SCHEMA)
  }

  prepare<Row>(sql: string): Statement<Row> {
    return new Statement<Row>(this.#sqlite.prepare(sql))
  }

  /**
   * A function that writes a whole row, over the one with the same key. It fails where a unique index forbids the row;
   * `insert or replace` would delete the other one instead.
   */
  writer<Item extends object>(table: string): (item: Item) => void {
    const info = this.prepare<{ name: string; pk: number }>('select name, pk from pragma_table_info(?)').all(
      table,
    )
    const names = info.map(({ name }) => name)
    const key = info.filter(({ pk }) => pk > 0).map(({ name }) => name)
    const put = this.prepare(`
      insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})
      on conflict (${key.join(', ')}) do update
      set ${names.map(name => `${name} = excluded.${name}`).join(', ')}`)
    return item => {
      const values = new Map<string, unknown>(Object.entries(item))
      put.run(...names.map(name => toColumn(values.get(name))))
    }
  }

  /** Runs `work` to the end or not at all. */
  transaction<Result>(work: () => Result): Result {
    this.#sqlite.exec('begin immediate')
    try {
      const result = work()
      this.#sqlite.exec('commit')
      return result
    } catch (error) {
      this.#sqlite.exec('rollback')
      throw error
    }
  }

  /** Whether it holds nothing but tokens. */
  isEmpty(): boolean {
    return STATE_TABLES.every(table => this.prepare(`select 1 from ${table} limit 1`).get() === undefined)
  }

  clear(): void {
    this.transaction(() => {
      for (const table of [...STATE_TABLES, 'tokens']) this.#sqlite.exec(`delete from ${table}`)
    })
  }

  close(): void {
    this.#sqlite.close()
  }
}

function toColumn(value: unknown): SQLInputValue {
  if (value === undefined || value === null) return null
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'object' ? JSON.stringify(value) : (value as SQLInputValue)
}
