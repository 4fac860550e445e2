package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"headway/fetch/guard"
	"headway/internal/cli/command"
	"headway/weburl"
)

// maxLabAnswer bounds what a lab may say: a farm of 62,500 hosts has about
// 70 MB of statistics.
const maxLabAnswer = 128 << 20

// labTimeout bounds one question to a lab on this machine.
const labTimeout = 30 * time.Second

// askLab asks a running lab over its control paths and decodes the answer into
// to, unless that is nil. The address is named by the person who runs the lab,
// so it may be private; it must be an address, and nothing else is dialled.
func askLab(ctx context.Context, at, question string, to any) error {
	u, err := weburl.Parse(at)
	if err != nil {
		return command.Usage(fmt.Errorf("--at: %w", err), "--at takes the URL of a lab, for example http://127.1.0.1:8780")
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return command.Usage(fmt.Errorf("--at: %s is not an IP address", u.Hostname()), "give the lab's IP address, for example http://127.1.0.1:8780")
	}
	dialer, err := guard.New(guard.Config{AllowPrivate: []guard.Range{{
		Prefix: netip.PrefixFrom(addr, addr.BitLen()), Ports: []uint16{u.Port()},
	}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Host()+"/__lab/"+question, nil)
	if err != nil {
		return err
	}
	resp, err := dialer.Client(labTimeout).Do(req)
	if err != nil {
		return command.Failed(fmt.Errorf("cannot reach the lab at %s: %w", u.Host(), errors.Unwrap(err)), "start one with headway lab up, or give another address with --at")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return command.Failed(fmt.Errorf("the server at %s is not a lab: it answered %s", u.Host(), resp.Status), "give another address with --at")
	}
	if to == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxLabAnswer)).Decode(to); err != nil {
		return command.Failed(fmt.Errorf("read the lab's response: %w", err), "the lab may be another version of headway; restart it")
	}
	return nil
}
