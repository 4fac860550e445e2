package s3

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"headway/fetch/guard"
)

// attemptTime limits one request and response: 16 MiB at 27 KiB/s.
const attemptTime = 10 * time.Minute

// continueTimeout is how long a server may take to refuse before a part is sent (Expect:
// 100-continue). A refusal during the upload might not be received.
const continueTimeout = time.Second

// abortTime limits aborting an upload, which also happens after an interrupt.
const abortTime = 15 * time.Second

// defaultRegion is used for a server without a region: most servers other than AWS ignore
// it.
const defaultRegion = "us-east-1"

// Config says where files go and how.
type Config struct {
	Place Place
	// Guard configures network access. The port of an endpoint from the environment is
	// allowed on public addresses; private ones need their range in AllowPrivate.
	Guard guard.Config
	// PrivateFlag is the flag that sets AllowPrivate, for hints; empty means --to-private.
	PrivateFlag string
	// Roots are the CAs for the server; nil means the system's. They replace
	// AWS_CA_BUNDLE, which must not be set: the SDK adds it only to clients that it
	// creates itself, and those would not be guarded.
	Roots *x509.CertPool
	// MediaType returns the media type of a file by name. nil, and an empty type, mean
	// application/octet-stream.
	MediaType func(name string) string
	// Log logs what was left behind; may be nil.
	Log *slog.Logger
	// Sent is called with the number of bytes that arrived; may be nil.
	Sent func(bytes int64)
}

// Bucket stores files. It is used by one goroutine.
type Bucket struct {
	cfg     Config
	client  *s3.Client
	port    uint16 // of the server, 0 if its URL has none
	clients []guardedClient
	timeout time.Duration // of one request and response; 0 for none
}

// Open resolves the server and credentials, and checks write access with an upload that it
// starts and aborts at once.
func Open(ctx context.Context, cfg Config) (*Bucket, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Sent == nil {
		cfg.Sent = func(int64) {}
	}
	b, err := connected(ctx, cfg, attemptTime)
	if err != nil {
		return nil, err
	}
	if err := b.probe(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// connected resolves the server and credentials. The timeout limits each request and response; 0
// for none.
func connected(ctx context.Context, cfg Config, timeout time.Duration) (*Bucket, error) {
	cfg.PrivateFlag = cmp.Or(cfg.PrivateFlag, "--to-private")
	b := &Bucket{cfg: cfg, timeout: timeout}
	if err := b.connect(ctx); err != nil {
		return nil, b.explain("open", "", err)
	}
	return b, nil
}

// Close closes the bucket.
func (b *Bucket) Close() {
	for _, d := range b.clients {
		d.client.CloseIdleConnections()
	}
}

// connect creates the client. Its connections, including those for credentials, go through
// the guard.
func (b *Bucket) connect(ctx context.Context) error {
	out, err := b.newGuardedClient(b.cfg.Guard)
	if err != nil {
		return err
	}
	env, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(out))
	if err != nil {
		return err
	}
	b.client = s3.NewFromConfig(env, func(o *s3.Options) {
		if o.BaseEndpoint == nil {
			return
		}
		// Custom endpoints need path-style addresses; few serve bucket subdomains.
		o.UsePathStyle = true
		if o.Region == "" {
			o.Region = defaultRegion
		}
		own := b.cfg.Guard
		if b.port = portOf(*o.BaseEndpoint); b.port != 0 {
			own.ExtraPorts = append(slices.Clone(own.ExtraPorts), b.port)
		}
		if out, err = b.newGuardedClient(own); err == nil {
			o.HTTPClient = out
		}
	})
	if err != nil {
		return err
	}
	if b.client.Options().Region == "" {
		return errNoRegion
	}
	if c := b.client.Options().Credentials; c == nil || aws.IsCredentialsProvider(c, aws.AnonymousCredentials{}) {
		return errNoCredentials
	}
	if _, err := b.client.Options().Credentials.Retrieve(ctx); err != nil {
		return errors.Join(errNoCredentials, err)
	}
	return nil
}

// guardedClient is an HTTP client whose connections are guarded. It follows no redirects.
type guardedClient struct{ client *http.Client }

func (b *Bucket) newGuardedClient(cfg guard.Config) (guardedClient, error) {
	dialer, err := guard.New(cfg)
	if err != nil {
		return guardedClient{}, err
	}
	c := dialer.Client(b.timeout)
	if t, ok := c.Transport.(*http.Transport); ok {
		t.ExpectContinueTimeout = continueTimeout
		if b.cfg.Roots != nil {
			t.TLSClientConfig = &tls.Config{RootCAs: b.cfg.Roots, MinVersion: tls.VersionTLS12}
		}
	}
	b.clients = append(b.clients, guardedClient{c})
	return guardedClient{c}, nil
}

// Do sends a request.
func (d guardedClient) Do(r *http.Request) (*http.Response, error) {
	answer, err := d.client.Do(r)
	if isRefusal(err) {
		err = final{err}
	}
	return answer, err
}

// final is an error that is not retried. The SDK checks for it.
type final struct{ error }

func (final) RetryableError() bool { return false }

func (f final) Unwrap() error { return f.error }

// portOf is the port of an endpoint; 0 if it has none.
func portOf(endpoint string) uint16 {
	u, err := url.Parse(endpoint)
	if err != nil {
		return 0 // the client reports this itself
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}

// probe starts an upload and aborts it.
func (b *Bucket) probe(ctx context.Context) error {
	const name = ".headway"
	id, err := b.begin(ctx, name, "application/octet-stream")
	if err != nil {
		return b.explain("write to", "", err)
	}
	if err := b.abort(ctx, name, id); err != nil {
		return b.explain("write to", "", fmt.Errorf("abort upload: %w", err))
	}
	return nil
}
