//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"headway/lab"
)

// labStart limits how long a lab may take to start: 100,000 hosts took 12 s on a busy machine.
const labStart = time.Minute

// labStop limits how long it may take to stop.
const labStop = 5 * time.Second

// webLab is a lab in a separate process, as crawled sites are.
type webLab struct {
	cmd   *exec.Cmd
	done  chan error
	port  int
	ca    string // file of the certificate that its hosts are signed with
	https bool
}

// startLab starts a lab on a free port and waits until it responds. It writes the certificate
// that its hosts are signed with to a file.
func startLab(ctx context.Context, binary, ca string, flags []string, stderr io.Writer) (*webLab, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{"lab", "up", "--listen", "0.0.0.0:" + strconv.Itoa(port), "--cert-out", ca}, flags...)
	l := &webLab{
		cmd:  exec.CommandContext(context.WithoutCancel(ctx), binary, args...), //nolint:gosec // our own binary
		done: make(chan error, 1), port: port, ca: ca, https: slices.Contains(flags, "--tls"),
	}
	l.cmd.Stderr = stderr
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { l.done <- l.cmd.Wait() }()
	if err := l.ready(ctx); err != nil {
		_ = l.stop() // report the reason, not this error
		return nil, fmt.Errorf("start lab: %w", err)
	}
	return l, nil
}

// freePort returns a port that is free on all loopback addresses.
func freePort(ctx context.Context) (int, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp4", "0.0.0.0:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// ready waits until the lab responds.
func (l *webLab) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, labStart)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := l.ask(ctx, "reset", nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case err := <-l.done:
			l.done <- err
			return fmt.Errorf("it ended: %w", err)
		case <-again.C:
		}
	}
}

// stop stops the lab and waits for it.
func (l *webLab) stop() error {
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop lab: %w", err)
	}
	select {
	case <-l.done:
		return nil // by the signal
	case <-time.After(labStop):
		if err := l.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("stop lab: %w", err)
		}
		<-l.done
		return nil
	}
}

// ask requests a control path of the lab and passes the response to read.
func (l *webLab) ask(ctx context.Context, question string, read func(io.Reader) error) error {
	at, transport := "http", &http.Transport{DisableKeepAlives: true}
	if l.https {
		pem, err := os.ReadFile(l.ca)
		if err != nil {
			return err
		}
		at, transport.TLSClientConfig = "https", &tls.Config{RootCAs: x509.NewCertPool()}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s://127.1.0.1:%d/__lab/%s", at, l.port, question), nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: transport}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("the lab answers %s to %s", resp.Status, question)
	}
	if read == nil {
		return nil
	}
	return read(resp.Body)
}

// writeSeeds writes the front pages of all hosts to a file.
func (l *webLab) writeSeeds(ctx context.Context, name string) error {
	return l.ask(ctx, "seeds", func(r io.Reader) error {
		seeds, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return os.WriteFile(name, seeds, 0o600)
	})
}

// stats reads the lab's counters since the last reset.
func (l *webLab) stats(ctx context.Context) (s lab.Stats, err error) {
	err = l.ask(ctx, "stats?summary=1", func(r io.Reader) error { return json.NewDecoder(r).Decode(&s) })
	return s, err
}
