package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"headway/fetch/guard"
	"headway/internal/atomicfile"
	"headway/job"
	"headway/output/format"
	"headway/output/s3"
)

// delivery is the bucket that finished files are copied to, if one is named.
type delivery struct {
	to      string
	private []string
	door    guard.Config // how names are looked up
	quiet   bool
	err     io.Writer

	place    s3.Place
	bucket   *s3.Bucket // nil where there is none
	progress progress
}

func (d *delivery) register(fs *pflag.FlagSet) {
	fs.StringVar(&d.to, "to", "", "copy finished files to `s3://BUCKET/PREFIX`, configured by AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL and so on")
	fs.StringArrayVar(&d.private, "to-private", nil, "private addresses that --to may connect to, as `CIDR[:PORT,…]` (repeatable)")
}

// open proves that the bucket can be written to, before there is anything to
// lose. Without one it does nothing.
func (d *delivery) open(ctx context.Context) error {
	if d.to == "" {
		return nil
	}
	var err error
	if d.place, err = s3.ParsePlace(d.to); err != nil {
		return usage(fmt.Errorf("--to: %w", err), "use the form s3://BUCKET/PREFIX, for example s3://bucket/crawls/example.com")
	}
	cfg := s3.Config{Place: d.place, Guard: d.door, MediaType: format.MediaType, Log: newWarner(d.err), Sent: func(n int64) { d.progress.add(n) }}
	if cfg.Guard.AllowPrivate, err = parseRanges("--to-private", d.private); err != nil {
		return err
	}
	if len(d.private) > 0 {
		fmt.Fprintf(d.err, "headway: warning: --to may connect to private addresses: %s\n", oneLine(strings.Join(d.private, " ")))
	}
	if cfg.Roots, err = takeBundle(); err != nil {
		return err
	}
	if d.bucket, err = s3.Open(ctx, cfg); err != nil {
		return d.failure(ctx, err)
	}
	return nil
}

// bundleEnv names a file of certificates for the tools of AWS.
const bundleEnv = "AWS_CA_BUNDLE"

// takeBundle reads the certificates that AWS_CA_BUNDLE names and takes it out of
// the environment: the SDK would want to add them to a client that is not guarded.
func takeBundle() (*x509.CertPool, error) {
	name := os.Getenv(bundleEnv)
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", bundleEnv, err), "set it to a PEM file of CA certificates, or unset it")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, usage(fmt.Errorf("%s: no certificates found in %s", bundleEnv, name), "set it to a PEM file of CA certificates, or unset it")
	}
	return roots, os.Unsetenv(bundleEnv)
}

func (d *delivery) close() {
	if d.bucket != nil {
		d.bucket.Close()
	}
}

// deliver copies those of the files that are there.
func (d *delivery) deliver(ctx context.Context, out io.Writer, dir string, names []string) error {
	if d.bucket == nil {
		return nil
	}
	var files []string
	var size int64
	for _, name := range names {
		there, err := atomicfile.Exists(filepath.Join(dir, name))
		if err != nil {
			return failed(err, "")
		}
		if !there {
			continue
		}
		n, err := sizeOf(filepath.Join(dir, name))
		if err != nil {
			return failed(err, "")
		}
		files = append(files, name)
		size += n
	}
	d.progress = progress{w: d.err, quiet: d.quiet, say: sayBytes}
	d.progress.begin(size)
	objects := 0
	for _, name := range files {
		n, err := d.bucket.Put(ctx, filepath.Join(dir, name), name)
		objects += n
		if err != nil {
			d.progress.end()
			return d.failure(ctx, err)
		}
	}
	d.progress.end()
	fmt.Fprintf(out, "uploaded to %s: %d objects, %.1f MB\n", d.place, objects, float64(size)/(1<<20))
	return nil
}

func (d *delivery) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &Failure{Code: ExitInterrupted, Err: errors.New("interrupted"), Hint: "incomplete objects are not visible; run the same command to upload again"}
	}
	return failed(err, hintOf(err))
}

// deliver copies what the crawl made, once it has ended.
func (c *crawlRun) deliver(ctx context.Context, state job.State) error {
	if c.to.bucket == nil {
		return nil
	}
	if !state.Ended() {
		fmt.Fprintf(c.err, "headway: not uploaded to %s: the crawl has not finished\n", c.to.place)
		return nil
	}
	names := format.Files(c.set.Format...)
	for _, pattern := range format.Archives() {
		archive, err := filepath.Glob(filepath.Join(c.dir, pattern))
		if err != nil {
			return failed(err, "")
		}
		for _, path := range archive {
			names = append(names, filepath.Base(path))
		}
	}
	out := c.out
	if c.json {
		out = c.err // what is printed is one value
	}
	return c.to.deliver(ctx, out, c.dir, names)
}
