-- +goose Up

-- Those who asked not to be crawled: hosts and domains, each for itself and all
-- names below it. The number tells a list that changed from one that did not.
create table opt_out (
    name   text primary key,
    number bigint generated always as identity,
    at     bigint not null,
    who    text not null
);

create index opt_out_number on opt_out (number);

-- Hosts that tenants say are theirs. They are once the token was found there, or
-- an operator said so; until then proof is empty.
create table owned_host (
    tenant   text not null,
    host     text not null,
    token    text not null,
    asked_at bigint not null,
    owned_at bigint not null default 0,
    proof    text not null default '',
    who      text not null default '',
    primary key (tenant, host)
);

-- Domains that were asked for a token a moment ago, so that nobody can have one
-- asked all the time.
create table token_check (
    domain text primary key,
    at     bigint not null
);
