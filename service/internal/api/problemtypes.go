package api

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
)

// Code names a type of problem, for programs.
type Code string

// The codes.
const (
	MalformedBody        Code = "malformed_body"
	MissingKey           Code = "missing_key"
	InvalidKey           Code = "invalid_key"
	RevokedKey           Code = "revoked_key"
	ExpiredKey           Code = "expired_key"
	ScopeTooNarrow       Code = "scope_too_narrow"
	OperatorOnly         Code = "operator_only"
	NoTenant             Code = "no_tenant"
	CrossOrigin          Code = "cross_origin"
	NotFound             Code = "not_found"
	ContentNotKept       Code = "content_not_kept"
	UnknownPath          Code = "unknown_path"
	MethodNotAllowed     Code = "method_not_allowed"
	BodyTimeout          Code = "body_timeout"
	WrongState           Code = "wrong_state"
	Conflict             Code = "conflict"
	TooManyObjects       Code = "too_many_objects"
	IdempotencyKeyReused Code = "idempotency_key_reused"
	NotADryRun           Code = "not_a_dry_run"
	NoExportLocation     Code = "no_export_location"
	NoArchive            Code = "no_archive"
	NoWorker             Code = "no_worker"
	OrderRefused         Code = "order_refused"
	NotVerified          Code = "not_verified"
	BodyTooLarge         Code = "body_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	WrongHostname        Code = "wrong_hostname"
	InvalidValue         Code = "invalid_value"
	InvalidCursor        Code = "invalid_cursor"
	HostNotOwned         Code = "host_not_owned"
	UnknownTenant        Code = "unknown_tenant"
	UnknownPlan          Code = "unknown_plan"
	TooManyURLs          Code = "too_many_urls"
	RateLimited          Code = "rate_limited"
	QuotaExhausted       Code = "quota_exhausted"
	CheckedRecently      Code = "checked_recently"
	Internal             Code = "internal"
	Unavailable          Code = "unavailable"
	TooManyStreams       Code = "too_many_streams"
)

// typePrefix is what the URI of every problem type begins with. Its code follows.
const typePrefix = "urn:headway:problem:"

// URI identifies the type, as RFC 9457 has it.
func (c Code) URI() string { return typePrefix + string(c) }

// problemType is a row of the table of problems.
type problemType struct {
	code    Code
	status  int
	title   string
	meaning string // for the reference, without a full stop
	hint    string // what to do, unless the problem has a hint of its own
}

// tryAgain is the hint of a problem that may pass.
const tryAgain = "try again in a moment"

// problemTypes is the closed set, by status.
var problemTypes = []problemType{
	{MalformedBody, http.StatusBadRequest, "Malformed body", "the request body is not valid JSON", "see docs/guide/api.md for examples and docs/reference/openapi.json for the schema"},
	{MissingKey, http.StatusUnauthorized, "API key missing", "the request has no API key", authorise},
	{InvalidKey, http.StatusUnauthorized, "API key invalid", "the Authorization header contains no API key, or an unknown one", authorise},
	{RevokedKey, http.StatusUnauthorized, "API key revoked", "the API key was revoked", authorise},
	{ExpiredKey, http.StatusUnauthorized, "API key expired", "the API key has expired", authorise},
	{ScopeTooNarrow, http.StatusForbidden, "Scope too narrow", "the operation needs a key with a wider scope", "use a key with a wider scope"},
	{OperatorOnly, http.StatusForbidden, "Operators only", "the request names another tenant or a plan, which needs the scope operator", "omit tenant and plan"},
	{NoTenant, http.StatusForbidden, "No tenant", "the operation needs a tenant, and the key has none", "use a key created with headway admin key create --tenant"},
	{CrossOrigin, http.StatusForbidden, "Cross-origin request", "a browser sent the request for a page of another origin", "send it from a program, or from a page served by this server"},
	{NotFound, http.StatusNotFound, "Not found", "the object does not exist, or belongs to another tenant", "check the id against the list endpoint"},
	{ContentNotKept, http.StatusNotFound, "Content not kept", "the page has no such content: it was not fetched, says nothing, or its job did not keep it", "create the job with content, links or raw; see docs/guide/api.md"},
	{UnknownPath, http.StatusNotFound, "Unknown path", "the API has no such path", "paths begin with /v1; docs/reference/openapi.json lists them"},
	{MethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed", "the path exists, but not for this method", "the Allow header lists the allowed methods"},
	{BodyTimeout, http.StatusRequestTimeout, "Body timeout", "the request body did not arrive in time", "send it again"},
	{WrongState, http.StatusConflict, "Wrong state", "the job is in a state in which this is not possible", "check its state and try again"},
	{Conflict, http.StatusConflict, "Conflict", "the object changed at the same time", "check the current state and try again"},
	{TooManyObjects, http.StatusConflict, "Too many objects", "the maximum number of these objects is reached", "delete one first"},
	{IdempotencyKeyReused, http.StatusConflict, "Idempotency key reused", "the Idempotency-Key was already used with a different request", "use a new key for each object you create"},
	{NotADryRun, http.StatusConflict, "Not a dry run", "only a dry run has a plan", "create a dry run with POST /v1/jobs and dry_run: true"},
	{NoExportLocation, http.StatusConflict, "No export location", "the operator has configured no export location", "set one with headway serve --exports, or stream the pages with GET /v1/jobs/{job}/export"},
	{NoArchive, http.StatusConflict, "No archive", "the job keeps raw responses, and this server has no archive", "start the server with the archive of the workers: headway serve --archive; or omit raw"},
	{NoWorker, http.StatusConflict, "No worker answered", "no worker that owns the host answered in time", "list the workers with headway admin workers; another worker takes over a dead worker's hosts when its lease expires"},
	{OrderRefused, http.StatusConflict, "Order refused", "the worker that owns the host refused the order, or did not confirm it", "check GET /v1/orders and try again"},
	{NotVerified, http.StatusConflict, "Ownership not verified", "the token that proves ownership was not found", "publish the token as file or record says"},
	{BodyTooLarge, http.StatusRequestEntityTooLarge, "Body too large", "the request body is too large", "send a smaller request body"},
	{UnsupportedMediaType, http.StatusUnsupportedMediaType, "Unsupported media type", "the request body has a media type other than JSON", "send JSON with Content-Type: application/json"},
	{WrongHostname, http.StatusMisdirectedRequest, "Wrong hostname", "without keys the server only accepts loopback hostnames", "use 127.0.0.1 or localhost"},
	{InvalidValue, http.StatusUnprocessableEntity, "Invalid value", "a field or parameter has an invalid value; errors lists them", "see docs/guide/api.md for examples and docs/reference/openapi.json for the schema"},
	{InvalidCursor, http.StatusUnprocessableEntity, "Invalid cursor", "the cursor is not one of this list", "use next_cursor of the previous page with the same filters, or start without a cursor"},
	{HostNotOwned, http.StatusUnprocessableEntity, "Host not owned", "the settings need an owned host, and ownership of a seed's host is not verified", "claim it with POST /v1/owned-hosts and publish the token from the response"},
	{UnknownTenant, http.StatusUnprocessableEntity, "Unknown tenant", "the request names a tenant that does not exist", "list the tenants with headway admin tenant list"},
	{UnknownPlan, http.StatusUnprocessableEntity, "Unknown plan", "the request names a plan that does not exist", "list the plans with headway admin plan list"},
	{TooManyURLs, http.StatusUnprocessableEntity, "Too many URLs", "the jobs have more URLs than one request compares", "export both jobs and compare the files"},
	{RateLimited, http.StatusTooManyRequests, "Rate limited", "the rate limit of the key is exceeded", later},
	{QuotaExhausted, http.StatusTooManyRequests, "Quota exhausted", "the tenant has used up the monthly quota of its plan", "wait until the quota renews, or ask the operator for a larger plan"},
	{CheckedRecently, http.StatusTooManyRequests, "Checked recently", "ownership on this domain was checked a moment ago", later},
	{Internal, http.StatusInternalServerError, "Internal error", "an error of the server", "try again; if it keeps failing, check the server log"},
	{Unavailable, http.StatusServiceUnavailable, "Unavailable", "the database is not responding, or the server is stopping", tryAgain},
	{TooManyStreams, http.StatusServiceUnavailable, "Too many streams", "the server has too many open event streams", "close one, or poll GET /v1/events"},
}

const (
	authorise = "send Authorization: Bearer hw_… with a valid key; create one with headway admin key create"
	later     = "wait as long as the Retry-After header says"
)

// Codes lists the closed set, in the order of the table.
func Codes() []Code {
	list := make([]Code, len(problemTypes))
	for i := range problemTypes {
		list[i] = problemTypes[i].code
	}
	return list
}

// problemURIs lists the types, in the order of the table.
func problemURIs() []string {
	list := make([]string, len(problemTypes))
	for i := range problemTypes {
		list[i] = problemTypes[i].code.URI()
	}
	return list
}

// typeOfProblem is the row of a code.
func typeOfProblem(c Code) *problemType {
	at := slices.IndexFunc(problemTypes, func(p problemType) bool { return p.code == c })
	return &problemTypes[at] // a code without a row is a bug, which TestProblemTypes finds
}

// codeOfStatus is the code of an error that huma reports by its status alone.
func codeOfStatus(status int) Code {
	switch status {
	case http.StatusBadRequest:
		return MalformedBody
	case http.StatusNotFound:
		return NotFound
	case http.StatusRequestTimeout:
		return BodyTimeout
	case http.StatusRequestEntityTooLarge:
		return BodyTooLarge
	case http.StatusUnsupportedMediaType:
		return UnsupportedMediaType
	}
	if status >= http.StatusInternalServerError {
		return Internal
	}
	return InvalidValue
}

// ProblemsPage is the reference page of the problem types, in Markdown.
func ProblemsPage() []byte {
	var b bytes.Buffer
	b.WriteString(`# Problem types

Generated by ` + "`make generate`" + ` from the table in ` + "`service/internal/api`" + `; do not edit.

An error response of the API is a problem (RFC 9457) of one of these types. ` + "`type`" + ` is the URI ` + "`" + typePrefix + "`" + ` followed by the code, and ` + "`code`" + ` the
code alone; in Go, ` + "`client.Problem.Code`" + ` is one of the constants ` + "`client.Code…`" + `. ` + "`detail`" + ` says what is wrong with this request, ` + "`hint`" + ` what to do
next. Branch on the code, not on the words. The set is closed: the [changelog](../../CHANGELOG.md) lists every addition. The
[OpenAPI document](openapi.json) lists the codes of each operation by status (` + "`" + codesExtension + "`" + `).

| code | status | meaning | what to do |
|---|---|---|---|
`)
	for i := range problemTypes {
		p := &problemTypes[i]
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", p.code, p.status, p.meaning, p.hint)
	}
	return b.Bytes()
}
