package cooldown_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/storage"
)

// looks counts how often a ledger is asked. A rule calls Record, other programs call FirstSeen.
type looks struct {
	ledger *cooldown.Ledger // not embedded: a rule does not call a Record that may be that of the ledger
	n      *int
}

func (l looks) FirstSeen(ctx context.Context, of cooldown.Subject, list []cooldown.Version) ([]time.Time, error) {
	*l.n++
	return l.ledger.FirstSeen(ctx, of, list)
}

func (l looks) Record(ctx context.Context, look cooldown.Look, decide func(int, time.Time, bool) bool) error {
	*l.n++
	return l.ledger.Record(ctx, look, decide)
}

var _ cooldown.Recorder = looks{}

// A wrapper that counts how often a ledger is asked.
func ExampleRecorder() {
	n := 0
	var dates cooldown.Dates = looks{&cooldown.Ledger{Store: &storage.Memory{}}, &n}
	rule := cooldown.Rule{Age: 7 * 24 * time.Hour, Dates: dates}
	providers := &cooldown.Providers{Source: providers{dated: dated{"1.0.0": {}}}, Rule: rule}
	list, err := providers.ProviderVersions(context.Background(), addrs.MustParseProvider("acme/alpha"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(list.Versions), "listed,", len(list.Held), "held back,", n, "look")
	// Output: 0 listed, 1 held back, 1 look
}
