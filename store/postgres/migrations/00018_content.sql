-- +goose Up

-- The texts of pages, compressed. This is the table of shelf 0, which small jobs share; a
-- large job gets one of its own with its first text.
create table content_0 (
    url   bigint primary key,
    texts bytea not null
);

alter table content_0 alter column texts set storage external;
