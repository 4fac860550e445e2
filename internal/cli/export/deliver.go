package export

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"headway/fetch/guard"
	"headway/internal/atomicfile"
	"headway/internal/cli/command"
	"headway/output/format"
	"headway/output/s3"
)

// Delivery is the bucket that finished files are copied to, if one is named.
type Delivery struct {
	Place s3.Place // set by Open

	to       string
	private  []string
	quiet    bool
	err      io.Writer
	bucket   *s3.Bucket // nil where there is none
	progress progress
}

// Register adds --to and --to-private.
func (d *Delivery) Register(fs *pflag.FlagSet) {
	fs.StringVar(&d.to, "to", "", "copy finished files to `s3://BUCKET/PREFIX`, configured by AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL and so on")
	fs.StringArrayVar(&d.private, "to-private", nil, "private addresses that --to may connect to, as `CIDR[:PORT,…]` (repeatable)")
}

// Open checks that the bucket can be written to, before there is anything to lose.
// Without a bucket it does nothing. Names are looked up as resolve says.
func (d *Delivery) Open(ctx context.Context, resolve guard.Config, quiet bool, errs io.Writer) error {
	d.quiet, d.err = quiet, errs
	if d.to == "" {
		return nil
	}
	var err error
	if d.Place, err = s3.ParsePlace(d.to); err != nil {
		return command.Usage(fmt.Errorf("--to: %w", err), "use the form s3://BUCKET/PREFIX, for example s3://bucket/crawls/example.com")
	}
	cfg := s3.Config{Place: d.Place, Guard: resolve, MediaType: format.MediaType, Log: command.NewWarner(d.err), Sent: func(n int64) { d.progress.add(n) }}
	if cfg.Guard.AllowPrivate, err = command.ParseRanges("--to-private", d.private); err != nil {
		return err
	}
	if len(d.private) > 0 {
		fmt.Fprintf(d.err, "headway: warning: --to may connect to private addresses: %s\n", command.OneLine(strings.Join(d.private, " ")))
	}
	if cfg.Roots, err = TakeBundle(); err != nil {
		return err
	}
	if d.bucket, err = s3.Open(ctx, cfg); err != nil {
		return d.failure(ctx, err, "")
	}
	return nil
}

// bundleEnv names a file of certificates for the tools of AWS.
const bundleEnv = "AWS_CA_BUNDLE"

// TakeBundle reads the certificates that AWS_CA_BUNDLE names and unsets the variable:
// the SDK would want to add them to a client that is not guarded.
func TakeBundle() (*x509.CertPool, error) {
	name := os.Getenv(bundleEnv)
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, command.Usage(fmt.Errorf("%s: %w", bundleEnv, err), "set it to a PEM file of CA certificates, or unset it")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, command.Usage(fmt.Errorf("%s: no certificates found in %s", bundleEnv, name), "set it to a PEM file of CA certificates, or unset it")
	}
	return roots, os.Unsetenv(bundleEnv)
}

// Named tells whether a bucket is named.
func (d *Delivery) Named() bool { return d.to != "" }

// Close ends the connections to the bucket.
func (d *Delivery) Close() {
	if d.bucket != nil {
		d.bucket.Close()
	}
}

// Deliver uploads those of the files that exist.
func (d *Delivery) Deliver(ctx context.Context, out io.Writer, dir string, names []string) error {
	if d.bucket == nil {
		return nil
	}
	var files []string
	var size int64
	for _, name := range names {
		there, err := atomicfile.Exists(filepath.Join(dir, name))
		if err != nil {
			return command.Failed(err, "")
		}
		if !there {
			continue
		}
		n, err := command.SizeOf(filepath.Join(dir, name))
		if err != nil {
			return command.Failed(err, "")
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
			return d.failure(ctx, err, "the files are on disk, run the same command to upload again")
		}
	}
	d.progress.end()
	fmt.Fprintf(out, "uploaded to %s: %d objects, %.1f MB\n", d.Place, objects, float64(size)/(1<<20))
	return nil
}

// failure adds a hint to the one that an error has.
func (d *Delivery) failure(ctx context.Context, err error, hint string) error {
	if ctx.Err() != nil {
		return &command.Failure{Code: command.ExitInterrupted, Err: errors.New("interrupted"), Hint: "incomplete objects are not visible; run the same command to upload again"}
	}
	hints := slices.DeleteFunc([]string{command.HintOf(err), hint}, func(h string) bool { return h == "" })
	return command.Failed(err, strings.Join(hints, "; "))
}
