-- Who may use the console and the API, and who is signed in. No secret stands here as such: passwords as
-- scrypt, everything that dirsync makes up itself (sessions, tokens, keys) as SHA-256.

-- People who may use the console, or have used it. dirsync users adds and disables them; those who sign in
-- through OIDC are added by it.
create table dirsync.console_user (
  name            text primary key,                       -- Name, in lower case; the audit shows it.
  -- How they sign in. password: with the one kept here. oidc: at the identity provider. key: with one-time
  -- keys; there is one such user, local.
  source          text not null check (source in ('password', 'oidc', 'key')),
  -- What they may do: viewer, reviewer, operator or admin. oidc: as their claims said at the last sign-in.
  role            text not null check (role in ('viewer', 'reviewer', 'operator', 'admin')),
  -- scrypt of the password, with its parameters and salt: $scrypt$ln=…,r=…,p=…$salt$hash.
  password_hash   text check ((password_hash is not null) = (source = 'password')),
  issuer          text,                                   -- oidc: the identity provider that knows them.
  -- oidc: their permanent id there (the claim sub). A name may pass to another person, this may not.
  subject         text,
  -- The language that they chose: en or zh-CN; null: as their browser asks.
  language        text,
  created_at      timestamptz not null default now(),     -- When they were added.
  created_by      text not null default dirsync.actor(),  -- Who added them.
  -- Since when they may not sign in; null: they may. Their sessions have ended.
  disabled_at     timestamptz,
  last_sign_in_at timestamptz,                            -- Their last sign-in.
  check ((source = 'oidc') = (issuer is not null and subject is not null))
);
create unique index console_user_subject on dirsync.console_user (issuer, subject) where source = 'oidc';

-- Who is signed in. A session is worth something while it is neither expired nor revoked and its user is not
-- disabled.
create table dirsync.console_session (
  -- SHA-256 of the cookie. The cookie itself is kept nowhere.
  id_hash      bytea primary key,
  -- Whose session it is; the role is read from there.
  user_name    text not null references dirsync.console_user (name) on delete cascade,
  -- How they signed in.
  via          text not null check (via in ('password', 'oidc', 'key')),
  created_at   timestamptz not null default now(),  -- When they signed in.
  -- When it ends by itself: after 12 hours, through OIDC after one, so that a role taken away there is gone.
  expires_at   timestamptz not null,
  last_seen_at timestamptz not null default now(),  -- Their last request, to the minute.
  address      text not null,                       -- The address that they signed in from.
  user_agent   text not null,                       -- Their browser, as it called itself, shortened.
  -- When it was ended: signed out, signed in anew, disabled, or the password changed.
  revoked_at   timestamptz,
  -- oidc: the token that the identity provider wants to see at sign-out; null once it is signed out.
  id_token     text
);
create index console_session_user on dirsync.console_session (user_name, address);

-- Bearer tokens of the API. dirsync tokens adds and revokes them.
create table dirsync.api_token (
  id           bigint generated always as identity primary key,  -- Number of the token.
  -- What it is for. The audit shows token:NAME. One token of a name is good at a time.
  name         text not null,
  -- SHA-256 of the token, which was shown once.
  hash         bytea not null unique,
  -- What its holder may do.
  role         text not null check (role in ('viewer', 'reviewer', 'operator', 'admin')),
  created_by   text not null default dirsync.actor(),            -- Who added it.
  created_at   timestamptz not null default now(),               -- When it was added.
  expires_at   timestamptz not null,                             -- Until when it is good.
  last_used_at timestamptz,                                      -- Its last use, to the minute.
  -- When it was revoked, or replaced by another of its name.
  revoked_at   timestamptz
);
create unique index api_token_name on dirsync.api_token (name) where revoked_at is null;

-- One-time keys: the address that an embedded start or dirsync users link prints signs in as local, an admin,
-- once.
create table dirsync.sign_in_key (
  hash       bytea primary key,                   -- SHA-256 of the key.
  created_by text not null,                       -- Who asked for it. start: the embedded default.
  created_at timestamptz not null default now(),  -- When it was made.
  expires_at timestamptz not null,                -- Until when it is good.
  used_at    timestamptz                          -- When it was used. It is good for nothing since then.
);

-- Sign-ins that are under way at the identity provider. The way back takes the row, once.
create table dirsync.sign_in_flow (
  hash          bytea primary key,    -- SHA-256 of a cookie: only the browser that went there can come back.
  state         text not null,        -- Has to come back in the address.
  nonce         text not null,        -- Has to come back in the ID token.
  code_verifier text not null,        -- Proves to the provider that the code is ours (PKCE).
  return_to     text not null,        -- The page that was asked for.
  expires_at    timestamptz not null  -- Until when they may come back.
);
create index sign_in_flow_end on dirsync.sign_in_flow (expires_at);

-- Failed sign-ins by address and by name, which slow the next ones. A row counts for 15 minutes after its
-- last failure.
create table dirsync.sign_in_failure (
  kind          text not null check (kind in ('address', 'name')),  -- address or name.
  -- The address (of IPv6 its network), or SHA-256 of the name: people type passwords into the wrong field.
  key           text not null,
  -- Attempts that failed or are under way: each is counted before its password is looked at.
  failures      integer not null,
  last_at       timestamptz not null,                               -- The last of them.
  blocked_until timestamptz not null,                               -- No other attempt before.
  primary key (kind, key)
);
create index sign_in_failure_last on dirsync.sign_in_failure (last_at);

create function dirsync.sign_in_pause(kind text, failures integer) returns interval
language sql immutable set search_path = pg_catalog, pg_temp as $$
  -- Many people may share an address. A name is slowed for less long: a stranger may be trying it.
  select case when failures <= free then interval '0'
              else least(2 ^ least(failures - free, 20), longest) * interval '1 second' end
  from (values ('address', 20, 300), ('name', 5, 60)) as rule (kind, free, longest)
  where rule.kind = sign_in_pause.kind
$$;
comment on function dirsync.sign_in_pause is
  'How long the next sign-in has to wait after so many failures: not at all for the first ones, then twice '
  'as long each time, 5 minutes at most for an address and one minute for a name.';

create function dirsync.admit_sign_in(address_key text, address text, name text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _name_key text := encode(sha256(convert_to(name, 'UTF8')), 'hex');
  -- Failing with a name on purpose must not lock out its owner, who has signed in from here
  -- before.
  _slow_name boolean := not exists (
    select from dirsync.console_session s
    where s.user_name = admit_sign_in.name and s.address = admit_sign_in.address);
  _now timestamptz := clock_timestamp();
  _kind text;
  _wait integer;
begin
  select ceil(extract(epoch from max(f.blocked_until) - _now)) into _wait
  from dirsync.sign_in_failure f
  where (f.kind = 'address' and f.key = address_key or f.kind = 'name' and f.key = _name_key and _slow_name)
    and f.blocked_until > _now;
  if _wait > 0 then
    return _wait;
  end if;

  -- The address before the name, everywhere, so that there is no deadlock.
  foreach _kind in array case when _slow_name then array['address', 'name'] else array['address'] end loop
    insert into dirsync.sign_in_failure as f (kind, key, failures, last_at, blocked_until)
    values (_kind, case _kind when 'address' then address_key else _name_key end, 1, _now, _now)
    on conflict (kind, key) do update
    set failures = case when f.last_at < _now - interval '15 minutes' then 1 else f.failures + 1 end,
        last_at = greatest(f.last_at, _now),
        blocked_until = greatest(f.last_at, _now) + dirsync.sign_in_pause(_kind,
          case when f.last_at < _now - interval '15 minutes' then 1 else f.failures + 1 end)
    where f.blocked_until <= clock_timestamp();
    -- Others were admitted in the same moment, and this one comes too late.
    if not found then
      return 1;
    end if;
  end loop;

  -- Each attempt clears up after a few old ones: the table never grows beyond an hour of them.
  delete from dirsync.sign_in_failure
  where ctid = any (array(select f.ctid from dirsync.sign_in_failure f
                          where f.last_at < _now - interval '1 hour' limit 5 for update skip locked));
  return 0;
end $$;
comment on function dirsync.admit_sign_in is
  'Asks for leave to look at a password. Returns 0 and counts the attempt as failed until forgive_sign_in '
  'says otherwise, or the seconds to wait.';

create function dirsync.forgive_sign_in(address_key text, name text, succeeded boolean) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update dirsync.sign_in_failure f
  set failures = greatest(f.failures - 1, 0),
      blocked_until = f.last_at + dirsync.sign_in_pause(f.kind, greatest(f.failures - 1, 0))
  where f.kind = 'address' and f.key = address_key;
  update dirsync.sign_in_failure f
  set failures = case when succeeded then 0 else greatest(f.failures - 1, 0) end,
      blocked_until = case when succeeded then f.last_at
                           else f.last_at + dirsync.sign_in_pause(f.kind, greatest(f.failures - 1, 0)) end
  where f.kind = 'name' and f.key = encode(sha256(convert_to(forgive_sign_in.name, 'UTF8')), 'hex');
$$;
comment on function dirsync.forgive_sign_in is
  'Takes an admitted attempt off the failures again: it succeeded, which also forgives its name, or its '
  'password was not looked at.';

-- Answers of /api/v1 to requests with an Idempotency-Key, so that a repeated request starts nothing twice.
-- Kept for a day.
create table dirsync.idempotency_key (
  owner   text not null,  -- Who sent the request.
  key     text not null,  -- The key, as the caller made it.
  request text not null,  -- Digest of route and input: another request needs another key.
  answer  text,           -- The first answer, a JSON text; null while the work is under way.
  -- When the first request came.
  at      timestamptz not null default now(),
  primary key (owner, key)
);
create index idempotency_key_at on dirsync.idempotency_key (at);
