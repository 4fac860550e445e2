package s3

import (
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

// attemptTime bounds one request with its answer: 16 MiB at 27 KiB/s.
const attemptTime = 10 * time.Minute

// hearFirst is how long a server may take to refuse before a part is sent. One that
// refuses meanwhile could not be heard.
const hearFirst = time.Second

// abortTime bounds giving an upload up, which is done after an interrupt, too.
const abortTime = 15 * time.Second

// defaultRegion is where a server lies that was named without a region: most
// that are not of AWS do not care.
const defaultRegion = "us-east-1"

// Config says where files go and how they get there.
type Config struct {
	Place Place
	// Guard is the door to the network. The port of an endpoint that the
	// environment names is opened on public addresses; private ones need their
	// range in AllowPrivate.
	Guard guard.Config
	// Roots are who may vouch for the server; nil for those of the system. They
	// stand in for AWS_CA_BUNDLE, which must not be set: the SDK adds it only to
	// clients that it makes itself, and those would not be guarded.
	Roots *x509.CertPool
	// MediaType is the type of a file by its name. Nil, and an empty one, stand for
	// application/octet-stream.
	MediaType func(name string) string
	// Log is told of what was left behind; nil for nobody.
	Log *slog.Logger
	// Sent is told of bytes that arrived; nil for nobody.
	Sent func(bytes int64)
}

// Bucket takes files. It is used by one goroutine.
type Bucket struct {
	cfg    Config
	client *s3.Client
	port   uint16 // of the server, 0 where its name does not say
	doors  []door
}

// Open finds the server and who we are to it, and proves that we may write
// there by an upload that it begins and gives up at once. Nothing is left of it.
func Open(ctx context.Context, cfg Config) (*Bucket, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Sent == nil {
		cfg.Sent = func(int64) {}
	}
	b := &Bucket{cfg: cfg}
	if err := b.connect(ctx); err != nil {
		return nil, b.explain("open", "", err)
	}
	if err := b.probe(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close ends the use of the bucket.
func (b *Bucket) Close() {
	for _, d := range b.doors {
		d.client.CloseIdleConnections()
	}
}

// connect makes the client. Its connections, and those that fetch credentials,
// go through the guard.
func (b *Bucket) connect(ctx context.Context) error {
	out, err := b.door(b.cfg.Guard)
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
		// A server that was named answers by its own name; few others serve
		// names below it.
		o.UsePathStyle = true
		if o.Region == "" {
			o.Region = defaultRegion
		}
		own := b.cfg.Guard
		if b.port = portOf(*o.BaseEndpoint); b.port != 0 {
			own.ExtraPorts = append(slices.Clone(own.ExtraPorts), b.port)
		}
		if out, err = b.door(own); err == nil {
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

// door is a client whose connections are guarded. It follows no redirect.
type door struct{ client *http.Client }

func (b *Bucket) door(cfg guard.Config) (door, error) {
	dialer, err := guard.New(cfg)
	if err != nil {
		return door{}, err
	}
	c := dialer.Client(attemptTime)
	if t, ok := c.Transport.(*http.Transport); ok {
		t.ExpectContinueTimeout = hearFirst
		if b.cfg.Roots != nil {
			t.TLSClientConfig = &tls.Config{RootCAs: b.cfg.Roots, MinVersion: tls.VersionTLS12}
		}
	}
	b.doors = append(b.doors, door{c})
	return door{c}, nil
}

// Do sends a request.
func (d door) Do(r *http.Request) (*http.Response, error) {
	answer, err := d.client.Do(r)
	if isRefusal(err) {
		err = final{err}
	}
	return answer, err
}

// final is an error that another attempt would not change. The SDK asks for it.
type final struct{ error }

func (final) RetryableError() bool { return false }

func (f final) Unwrap() error { return f.error }

// portOf is the port that an endpoint names, 0 for none.
func portOf(endpoint string) uint16 {
	u, err := url.Parse(endpoint)
	if err != nil {
		return 0 // the client says so itself
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}

// probe begins an upload and gives it up.
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
