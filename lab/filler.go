package lab

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// fillerSizes are the approximate block sizes. Mostly large ones: the gzip of an ordinary
// server has few blocks too, and each costs the client a table.
var fillerSizes = [...]int{16 << 10, 4 << 10, 1 << 10}

const fillerPerSize = 24

// filler is the shared text of a lab's pages, by size class.
type filler [len(fillerSizes)][]block

// prepare compresses everything in advance, so that no request waits for it.
func (f *filler) prepare() {
	for _, blocks := range f {
		for _, b := range blocks {
			b.deflated()
		}
	}
}

// small is the block used by short side pages.
func (f *filler) small() *block { return &f[len(fillerSizes)-1][0] }

var words = strings.Fields(`river market signal harbour quiet engine paper window garden
	silver border copper winter letter bridge answer island season figure object weather
	orange mirror valley method simple travel yellow number family corner planet forest
	people record system public water between light after before under measure several
	the of and to in a is that for it as was with be by on not he his but at are this`)

// lastFiller caches the latest filler: programs with many labs, such as tests, mostly use
// one seed, and filler never changes.
var lastFiller atomic.Pointer[seededFiller]

type seededFiller struct {
	seed uint64
	*filler
}

// fillerOf returns the filler of a seed.
func fillerOf(seed uint64) *filler {
	if last := lastFiller.Load(); last != nil && last.seed == seed {
		return last.filler
	}
	f := makeFiller(seed)
	lastFiller.Store(&seededFiller{seed, f})
	return f
}

// makeFiller generates the filler of a lab: paragraphs, lists, tables, images, inline
// script, comments, entities, attributes.
func makeFiller(seed uint64) *filler {
	f := new(filler)
	for class, size := range fillerSizes {
		for i := range fillerPerSize {
			r := newRNG(seed, 0xf111e4, uint64(class), uint64(i))
			var s strings.Builder
			for s.Len() < size-200 {
				writeFragment(&s, r, i)
			}
			f[class] = append(f[class], newBlock([]byte(s.String())))
		}
	}
	return f
}

func writeFragment(s *strings.Builder, r *rng, i int) {
	switch r.intn(8) {
	case 0:
		fmt.Fprintf(s, "<ul class=\"list l%d\">\n", i)
		for range 4 {
			fmt.Fprintf(s, "  <li data-k=\"%x\"><span class=\"t\">%s</span></li>\n", r.next()>>40, sentence(r, 6))
		}
		s.WriteString("</ul>\n")
	case 1:
		fmt.Fprintf(s, "<figure><img src=\"/img/%d.webp\" width=\"640\" height=\"360\" alt=\"%s\" loading=lazy><figcaption>%s &mdash; &copy; farm</figcaption></figure>\n",
			r.intn(900), sentence(r, 4), sentence(r, 8))
	case 2:
		fmt.Fprintf(s, "<script>var k%d={id:%d,on:function(e){if(e<%d&&e>0){return '<b>'+e+'</b>'}}};</script>\n", i, r.intn(1e6), r.intn(99))
	case 3:
		fmt.Fprintf(s, "<!-- %s -->\n<table class=\"grid\"><tr><th>%s<th>%s</tr><tr><td>%d<td>%d</tr></table>\n",
			sentence(r, 5), sentence(r, 2), sentence(r, 2), r.intn(999), r.intn(999))
	default:
		fmt.Fprintf(s, "<p id=\"b%d-%d\" class=\"para\">%s <em>%s</em> &amp; %s.</p>\n", i, s.Len(), sentence(r, 18), sentence(r, 3), sentence(r, 22))
	}
}

func sentence(r *rng, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = words[r.intn(len(words))]
	}
	return strings.Join(parts, " ")
}
