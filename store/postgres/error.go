package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"headway/store"
)

var errOldServer = errors.New("the server is too old")

// errMoved ends a transaction that used the shared tables for a job that has its own now.
var errMoved = errors.New("the job was moved to its own tables")

// SQLSTATE codes that are handled here.
const (
	codeDiskFull       = "53100"
	codeDeadlock       = "40P01"
	codeSerialization  = "40001"
	codeNoTable        = "42P01"
	codeDataCorrupted  = "XX001"
	codeIndexCorrupted = "XX002"
)

// wrap maps an error of the server to the errors of the contract.
func wrap(err error) error {
	switch code(err) {
	case codeDiskFull:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case codeDataCorrupted, codeIndexCorrupted:
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	default:
		return err
	}
}

// code is the SQLSTATE of an error; empty if it is not the server's.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isRetriable reports whether a change was rolled back because of another one.
func isRetriable(err error) bool {
	c := code(err)
	return c == codeDeadlock || c == codeSerialization || errors.Is(err, errMoved)
}

func isConnectError(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}
