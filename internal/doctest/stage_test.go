//go:build linux

package doctest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"headway/internal/ownnet"
)

// A stage is a process in its own network in which one document is run. It is this
// test binary, started with environment variables that say what to do.
const (
	stageDocument  = "DOCTEST_DOCUMENT"  // the page to run
	stageRecording = "DOCTEST_RECORDING" // the tree to write a recording to, instead
	stageDir       = "DOCTEST_DIR"       // its working directory
	stageHome      = "DOCTEST_HOME"
	stagePath      = "DOCTEST_PATH"
	stageAlone     = "DOCTEST_ALONE" // whether it has its own network
)

// longest is how long a document may take.
const longest = 3 * time.Minute

// stage calls play and ends the process.
func stage(play func() error) {
	if err := play(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play runs a document.
func play() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), longest, errors.New("the document takes too long"))
	defer cancel()
	page, err := os.ReadFile(os.Getenv(stageDocument))
	if err != nil {
		return err
	}
	doc, err := read(string(page))
	if err != nil {
		return err
	}
	r := &reader{dir: os.Getenv(stageDir), env: readerEnv(os.Getenv(stageHome), os.Getenv(stagePath))}
	own, err := strconv.ParseBool(os.Getenv(stageAlone))
	if err != nil {
		return err
	}
	if own {
		if err := bringUp(); err != nil {
			return err
		}
		shop, err := openShop(ctx, os.Getenv(stageHome))
		if err != nil {
			return err
		}
		defer shop.close()
		r.env = append(r.env, shop.env()...)
	}
	if err := r.start(); err != nil {
		return err
	}
	defer r.kill()
	for _, c := range doc.commands {
		began := time.Now()
		out, err := r.run(ctx, c)
		if err != nil {
			return err
		}
		fmt.Printf("%5.1fs $ %s\n%s", time.Since(began).Seconds(), c.text, out)
	}
	return r.stop()
}

// shopAddr is the address of example.com on a stage: a public one, so that the crawler
// needs no permission for it.
var shopAddr = netip.MustParseAddr("93.184.215.14")

// bringUp enables the loopback of this network and adds the addresses of the servers
// on the stage.
func bringUp() error {
	if err := ownnet.Up(); err != nil {
		return err
	}
	for i, addr := range append(nameServers(), shopAddr, netip.MustParseAddr(bucketAddr)) {
		if err := ownnet.Add(i, addr); err != nil {
			return err
		}
	}
	return nil
}

// nameServers are the name servers of this machine: on a stage these addresses belong
// to the shop.
func nameServers() []netip.Addr {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return nil // programs then use the loopback
	}
	var list []netip.Addr
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if addr, err := netip.ParseAddr(fields[1]); err == nil && addr.Is4() && !addr.IsLoopback() {
			list = append(list, addr)
		}
	}
	return list
}
