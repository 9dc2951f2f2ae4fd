-- A small HR database as companies have them: grown, with habits of its own, and not shaped like the platform.
-- employees.sql and departments.sql turn it into what dirsync reads.

create schema hr;

comment on schema hr is 'Sample HR database: organisation, people, contacts and employments';

create function hr.touch() returns trigger language plpgsql as $$
begin
  new.changed_at := now();
  return new;
end
$$;

comment on function hr.touch() is 'Moves changed_at with every update, so that a sync can ask for what changed';

create table hr.org_unit (
  unit_id    integer primary key,
  company    text not null,
  code       text not null,
  title      text not null,
  parent_id  integer references hr.org_unit,
  closed_at  timestamptz,
  changed_at timestamptz not null default now(),
  unique (company, code)
);

comment on table hr.org_unit is 'Departments of all companies, three levels; closed ones are kept for the records';
comment on column hr.org_unit.company is 'Legal entity the unit belongs to, e.g. E100';
comment on column hr.org_unit.parent_id is 'Unit above; empty for the top of a company';
comment on column hr.org_unit.closed_at is 'When the unit was or will be closed; empty while it is open';

create table hr.person (
  person_id   integer primary key,
  staff_id    text not null unique,
  family_name text not null,
  given_name  text not null,
  name_order  char(1) not null check (name_order in ('F', 'G')),
  sex         char(1) not null check (sex in ('M', 'F', 'X')),
  birth_date  text,
  id_kind     char(2) check (id_kind in ('ID', 'PP')),
  id_number   text,
  note        text,
  changed_at  timestamptz not null default now()
);

comment on table hr.person is 'People, whether employed now or in the past';
comment on column hr.person.staff_id is 'Given once and never changed; the platform knows it as userid';
comment on column hr.person.name_order is 'How the name is written: F family name first, G given name first';
comment on column hr.person.birth_date is 'As typed: yyyy-MM-dd, or MM-dd where the year is not told';
comment on column hr.person.id_kind is 'ID identity card, PP passport';
comment on column hr.person.note is 'Free text for the reception';

create table hr.contact (
  person_id  integer not null references hr.person,
  kind       text not null check (kind in ('mobile', 'work_email', 'private_email')),
  value      text not null,
  changed_at timestamptz not null default now(),
  primary key (person_id, kind)
);

comment on table hr.contact is 'Ways to reach a person, one of each kind';
comment on column hr.contact.value is
  'As typed. Mobiles with or without country prefix: +86 100 0001 0001, 0086-10000010001, 100-0001-0001';

create table hr.employment (
  employment_id integer primary key,
  person_id     integer not null references hr.person,
  company       text not null,
  unit_id       integer not null references hr.org_unit,
  work_number   text not null,
  status        char(1) not null check (status in ('A', 'P', 'B', 'L')),
  hired_on      date,
  left_on       date,
  grade         text,
  staff_groups  text[] not null default '{}',
  cost_center   text check (cost_center ~ '^CC-[0-9]{4}$'),
  contract_kind char(1) not null default 'R' check (contract_kind in ('R', 'T', 'I', 'H', 'O')),
  taxpayer_ref  text,
  changed_at    timestamptz not null default now()
);

comment on table hr.employment is 'Employments; someone who came back has an ended one beside the present one';
comment on column hr.employment.status is 'A active, P on probation, B on a break (still employed), L left';
comment on column hr.employment.cost_center is 'Only where the cost is booked elsewhere than on the unit, e.g. CC-0042';
comment on column hr.employment.contract_kind is 'R regular, T temporary, I intern, H part-time, O outsourced';
comment on column hr.employment.taxpayer_ref is 'Taxpayer to invoice, only where it is not the company itself';

create trigger touch before update on hr.org_unit for each row execute function hr.touch();
create trigger touch before update on hr.person for each row execute function hr.touch();
create trigger touch before update on hr.contact for each row execute function hr.touch();
create trigger touch before update on hr.employment for each row execute function hr.touch();
