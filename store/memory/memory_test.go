package memory_test

import (
	"testing"

	"headway/store"
	"headway/store/memory"
	"headway/store/storetest"
)

func TestConformance(t *testing.T) {
	places := map[string]*memory.Store{} // stands for the disk of other engines
	storetest.Run(t, func(_ testing.TB, place string, fault store.Fault) store.Store {
		if places[place] == nil {
			places[place] = memory.Open(memory.Config{Fault: fault})
		}
		return places[place]
	})
}
