package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/internal/config"
)

// callFlags are the flags that are about one call, not about the crawl; seeds are
// kept by themselves.
var callFlags = []string{"dir", "fresh", "help", "json", "no-color", "plain", "quiet", "seeds", "stdout"}

// maxFlagBytes bounds the flags that are kept with a crawl.
const maxFlagBytes = 64 << 10

// keepFlags keeps the flags of a call with what was asked for, so that the folder
// alone is enough to go on. Secrets are never written down.
func keepFlags(flags *pflag.FlagSet, set *config.Settings, asked *answer.CrawlSpec) {
	size := 0
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(callFlags, f.Name) {
			return
		}
		texts, secret := config.Given(f, set)
		size += len(strings.Join(texts, ""))
		if secret || size > maxFlagBytes {
			asked.Withheld = append(asked.Withheld, f.Name)
			return
		}
		for _, text := range texts {
			asked.Flags = append(asked.Flags, f.Name+"="+text)
		}
	})
}

// recall sets the flags that the last call in a folder had and this one has not,
// and returns the seeds of the crawl there; none where nothing was kept.
func (p *purpose) recall(flags *pflag.FlagSet, dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, command.AskedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, command.Failed(fmt.Errorf("read saved settings: %w", err), "give the seeds again")
	}
	asked, err := answer.ReadCrawlSpec(text)
	if err != nil {
		return nil, command.Failed(err, "give the seeds again")
	}
	if asked.Purpose != p.name {
		return nil, p.other(dir, asked.Purpose)
	}
	again := fmt.Sprintf("headway %s --dir %s", cmp.Or(p.name, "crawl"), dir)
	if len(asked.Seeds) < asked.SeedCount {
		return nil, command.Usage(fmt.Errorf("%s stores only the first %d of %d seeds", dir, len(asked.Seeds), asked.SeedCount), "give the seeds file again: "+again+" --seeds FILE")
	}
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	for _, name := range asked.Withheld {
		if !given[name] {
			return nil, command.Usage(fmt.Errorf("this crawl was started with --%s, whose value is not stored", name), "give it again: "+again+" --"+name+" …")
		}
	}
	for _, kept := range asked.Flags {
		name, value, _ := strings.Cut(kept, "=")
		if given[name] {
			continue
		}
		if err := config.Restore(flags, name, value); err != nil {
			return nil, command.Usage(fmt.Errorf("invalid stored value for --%s: %w", name, err), "give it again: "+again+" --"+name+" …")
		}
	}
	return asked.Seeds, nil
}
