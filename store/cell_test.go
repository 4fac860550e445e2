package store

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"
)

// cellsOf makes the cells of a numbered fleet.
func cellsOf(t testing.TB, fleet, n int) Cells {
	t.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("fleet%d-pg%d", fleet, i)
	}
	c, err := NewCells(names...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewCells(t *testing.T) {
	for name, names := range map[string][]string{"none": nil, "no name": {"a", ""}, "twice": {"a", "b", "a"}} {
		if _, err := NewCells(names...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	a, err := NewCells("x", "y", "z")
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewCells("z", "x", "y")
	if err != nil {
		t.Fatal(err)
	}
	for s := range Slot(SlotCount) {
		if a.Of(s) != b.Of(s) {
			t.Fatalf("slot %d: the order of names decides", s)
		}
	}
	if got := a.Names(); !slices.Equal(got, []string{"x", "y", "z"}) {
		t.Errorf("%q", got)
	}
	if got := (Cells{}).Of(7); got != "" {
		t.Errorf("no cells, and slot 7 is on %q", got)
	}
	// A placement is kept in tables: it must not change.
	var got []string
	for _, s := range []Slot{0, 1, 2, 3, 511, 1023} {
		got = append(got, a.Of(s))
	}
	if want := []string{"x", "z", "y", "x", "y", "x"}; !slices.Equal(got, want) {
		t.Errorf("placement %q, want %q", got, want)
	}
}

// moved counts the slots that are elsewhere in b, and checks that each of them
// went to or came from the one cell that is in only one of the two.
func moved(t *testing.T, a, b Cells, only string) int {
	t.Helper()
	n := 0
	for s := range Slot(SlotCount) {
		from, to := a.Of(s), b.Of(s)
		if from == to {
			continue
		}
		n++
		if from != only && to != only {
			t.Fatalf("slot %d moved from %s to %s, which both stay", s, from, to)
		}
	}
	return n
}

// TestAddingACell goes from 8 cells to 9 in many fleets. One of them is a draw
// of 1,024 slots with chance 1/9: 113.8 in the mean, and beyond 4.5 standard
// deviations of 10.1 once in a hundred thousand fleets. Over all, the mean must
// be within 2 % of 1/9.
func TestAddingACell(t *testing.T) {
	const fleets, before = 1000, 8
	want := float64(SlotCount) / (before + 1)
	deviation := math.Sqrt(want * before / (before + 1))
	sum := 0
	for fleet := range fleets {
		a, b := cellsOf(t, fleet, before), cellsOf(t, fleet, before+1)
		n := moved(t, a, b, fmt.Sprintf("fleet%d-pg%d", fleet, before))
		if math.Abs(float64(n)-want) > 4.5*deviation {
			t.Errorf("fleet %d: %d slots moved, want about %.0f", fleet, n, want)
		}
		sum += n
	}
	mean := float64(sum) / fleets
	t.Logf("%.2f %% of the slots moved in the mean, 1/9 is %.2f %%", 100*mean/SlotCount, 100*want/SlotCount)
	if math.Abs(mean-want) > 0.02*want {
		t.Errorf("%.1f slots moved in the mean, want %.1f", mean, want)
	}
}

func TestRemovingACell(t *testing.T) {
	for fleet := range 100 {
		all := cellsOf(t, fleet, 9)
		for i, gone := range all.Names() {
			rest, err := NewCells(slices.Delete(all.Names(), i, i+1)...)
			if err != nil {
				t.Fatal(err)
			}
			its := 0
			for s := range Slot(SlotCount) {
				if all.Of(s) == gone {
					its++
				}
			}
			if n := moved(t, all, rest, gone); n != its {
				t.Errorf("fleet %d: %s had %d slots, and %d moved", fleet, gone, its, n)
			}
		}
	}
}

// TestCellsShareAlike counts the slots of each cell: 1,024 draws among 16 give
// 64 each with a deviation of 7.7.
func TestCellsShareAlike(t *testing.T) {
	for fleet := range 100 {
		counts := map[string]int{}
		c := cellsOf(t, fleet, 16)
		for s := range Slot(SlotCount) {
			counts[c.Of(s)]++
		}
		for _, name := range c.Names() {
			if n := counts[name]; n < 64-35 || n > 64+35 {
				t.Errorf("%s has %d slots, want about 64", name, n)
			}
		}
	}
}

// TestCellWeightAvalanche flips each bit of what goes in: half of the bits that
// come out must change.
func TestCellWeightAvalanche(t *testing.T) {
	flip := func(name string, inputs int, change func(cell uint64, s Slot, bit int) uint64) {
		for bit := range inputs {
			flips := 0
			for s := range Slot(SlotCount) {
				cell := mix64(uint64(s) * 77)
				flips += bits.OnesCount64(cellWeight(cell, s) ^ change(cell, s, bit))
			}
			if mean := float64(flips) / SlotCount; math.Abs(mean-32) > 1 {
				t.Errorf("%s, bit %d: %.1f of 64 bits change", name, bit, mean)
			}
		}
	}
	flip("slot", 10, func(cell uint64, s Slot, bit int) uint64 { return cellWeight(cell, s^1<<bit) })
	flip("cell", 64, func(cell uint64, s Slot, bit int) uint64 { return cellWeight(cell^1<<bit, s) })
}

func ExampleNewCells() {
	cells, err := NewCells("pg-a", "pg-b", "pg-c")
	if err != nil {
		fmt.Println(err)
		return
	}
	more, err := NewCells("pg-a", "pg-b", "pg-c", "pg-d")
	if err != nil {
		fmt.Println(err)
		return
	}
	moved, elsewhere := 0, 0
	for s := range Slot(SlotCount) {
		if cells.Of(s) == more.Of(s) {
			continue
		}
		moved++
		if more.Of(s) != "pg-d" {
			elsewhere++
		}
	}
	fmt.Printf("%d of %d slots moved, %d of them not to the new cell\n", moved, SlotCount, elsewhere)
	// Output: 253 of 1024 slots moved, 0 of them not to the new cell
}
