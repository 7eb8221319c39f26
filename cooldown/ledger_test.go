package cooldown_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
)

const alphaFile = "providers/registry.example.com,acme,alpha.txt"

// day returns the time of a day of November 2026.
func day(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }

// at returns a clock that has stopped.
func at(now time.Time) func() time.Time { return func() time.Time { return now } }

func file(t *testing.T, store storage.Store, name string) string {
	t.Helper()
	f := must.Get(store.Open(t.Context(), name))(t)
	defer f.Close()
	return string(must.Get(io.ReadAll(f))(t))
}

func write(t *testing.T, store storage.Store, name, text string) {
	t.Helper()
	must.Do(t, store.Delete(t.Context(), name))
	must.Do(t, store.Write(t.Context(), name, io.NewSectionReader(strings.NewReader(text), 0, int64(len(text))), ""))
}

// stores are the stores of tests.
func stores(t *testing.T) map[string]storage.Store {
	return map[string]storage.Store{"Dir": &storage.Dir{Path: t.TempDir()}, "Memory": &storage.Memory{}}
}

// TestLedger: a ledger dates versions when it sees them first, works without any date of the list, ages what was there at
// the first look from then on, keeps listed what stays
// in the list, forgets what was removed, and is a file for people.
func TestLedger(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := dated{"1.0.0": {}, "1.1.0": day(3)} // of 1.1.0, the list states a date
			rule := func(n int, age time.Duration) cooldown.Rule {
				return cooldown.Rule{Age: age, Dates: &cooldown.Ledger{Store: store}, Now: at(day(n))}
			}
			for _, step := range []struct {
				day  int
				do   func()
				want string
			}{
				{10, func() {}, "1.1.0 [1.0.0]"},
				{11, func() { list["1.2.0"] = time.Time{} }, "1.1.0 [1.2.0] [1.0.0]"},
				{16, func() {}, "1.1.0 [1.2.0] [1.0.0]"},
				{17, func() {}, "1.1.0 1.0.0 [1.2.0]"},
				{17, func() { list["1.3.0"] = day(1) }, "1.1.0 1.0.0 [1.3.0] [1.2.0]"}, // a registry that lies
				{18, func() {}, "1.2.0 1.1.0 1.0.0 [1.3.0]"},
				{18, func() { list["1.2.0"] = day(18) }, "1.2.0 1.1.0 1.0.0 [1.3.0]"}, // a date has changed, but it was listed
				{18, func() { list["1.3.0"] = day(20) }, "1.2.0 1.1.0 1.0.0 [1.3.0]"},
				{24, func() {}, "1.2.0 1.1.0 1.0.0 [1.3.0]"}, // the later date counts
				{26, func() { delete(list, "1.2.0") }, "1.1.0 1.0.0 [1.3.0]"},
				{27, func() { list["1.2.0"] = time.Time{} }, "1.3.0 1.1.0 1.0.0 [1.2.0]"}, // published again
				{33, func() {}, "1.3.0 1.1.0 1.0.0 [1.2.0]"},
				{34, func() {}, "1.3.0 1.2.0 1.1.0 1.0.0"},
			} {
				step.do()
				if got := listed(t, list, rule(step.day, week)); got != step.want {
					t.Errorf("on day %d, listed is %s, want %s", step.day, got, step.want)
				}
			}
			if got := listed(t, list, rule(1, 100*week)); got != "1.3.0 1.2.0 1.1.0 1.0.0" {
				t.Errorf("with another age and an earlier time, listed is %s", got)
			}
			want := "# first seen: registry.example.com/acme/alpha\n" +
				"1.2.0 2026-11-27T00:00:00Z listed\n1.3.0 2026-11-17T00:00:00Z listed\n" +
				"1.0.0 2026-11-10T00:00:00Z first listed\n1.1.0 2026-11-03T00:00:00Z first listed\n"
			if got := file(t, store, alphaFile); got != want {
				t.Errorf("the file of alpha is\n%swant\n%s", got, want)
			}
			want = strings.Replace(want, "acme/alpha", "acme/network/aws", 1)
			if got := file(t, store, "modules/registry.example.com,acme,network,aws.txt"); got != want {
				t.Errorf("the file of the module is\n%s", got)
			}
		})
	}
}

// TestLedgerOld: with Old, what is there at the first look is old enough, unless the list says otherwise. That a provider had
// no version is a look, too.
func TestLedgerOld(t *testing.T) {
	t.Parallel()
	store := &storage.Memory{}
	rule := cooldown.Rule{Age: week, Dates: &cooldown.Ledger{Store: store, Old: day(30)}, Now: at(day(10))}
	list := dated{"1.0.0": {}, "1.1.0": day(9), "1.2.0": day(1)}
	if got := listed(t, list, rule); got != "1.2.0 1.0.0 [1.1.0]" {
		t.Errorf("at the first look, listed is %s", got)
	}
	list["1.3.0"] = time.Time{}
	if got := listed(t, list, rule); got != "1.2.0 1.0.0 [1.3.0] [1.1.0]" {
		t.Errorf("at the second look, listed is %s", got)
	}
	later := addrs.MustParseProvider("registry.example.com/acme/later")
	p := &cooldown.Providers{Source: providers{dated: dated{"1.0.0": {}, "1.1.0": day(29)}}, Rule: rule}
	for today, want := range map[int]int{30: 1, 31: 1} { // at the time Old and after it, only the other date makes a version old
		p.Now = at(day(today))
		p.Dates = &cooldown.Ledger{Store: &storage.Memory{}, Old: day(30)}
		if got := must.Get(p.ProviderVersions(t.Context(), later))(t); len(got.Versions) != 0 || len(got.Held) != 1+want {
			t.Errorf("at a first look on day %d, listed is %s", today, got)
		}
	}
	list = dated{"1.0.0": time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)} // older than a file can say
	rule.Dates = &cooldown.Ledger{Store: &storage.Memory{}}
	for range 2 {
		if got := listed(t, list, rule); got != "1.0.0" {
			t.Errorf("of a version of the year 0, listed is %s", got)
		}
	}
	rule.Dates = &cooldown.Ledger{Store: &storage.Memory{}, Old: day(30)}
	list = dated{}
	listed(t, list, rule)
	list["1.0.0"] = time.Time{}
	if got := listed(t, list, rule); got != "[1.0.0]" {
		t.Errorf("of a provider that had no version, listed is %s", got)
	}
}

// TestLedgerSecond: the age counts to the second, and a fraction of a second is never in favour of a version.
func TestLedgerSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rule := cooldown.Rule{Age: week, Dates: &cooldown.Ledger{Store: &storage.Memory{}}}
		list := dated{}
		listed(t, list, rule)
		time.Sleep(300 * time.Millisecond)
		list["1.0.0"] = time.Time{}
		for _, step := range []struct {
			sleep time.Duration
			want  string
		}{{0, "[1.0.0]"}, {week - time.Second, "[1.0.0]"}, {time.Second - 300*time.Millisecond, "[1.0.0]"}, {time.Second - time.Nanosecond, "[1.0.0]"}, {time.Nanosecond, "1.0.0"}} {
			time.Sleep(step.sleep)
			if got := listed(t, list, rule); got != step.want {
				t.Errorf("%v: listed is %s, want %s", time.Now(), got, step.want)
			}
		}
	})
}

// TestLedgerClock: a version that is seen while the clock is set back is not older than the newest one in the file. When the
// clock is right again, it is not old enough.
func TestLedgerClock(t *testing.T) {
	t.Parallel()
	ledger := &cooldown.Ledger{Store: &storage.Memory{}}
	list := dated{"1.0.0": {}}
	look := func(now time.Time) string {
		return listed(t, list, cooldown.Rule{Age: week, Dates: ledger, Now: at(now)})
	}
	look(day(10))
	list["1.1.0"] = time.Time{}
	if got := look(day(10).AddDate(-20, 0, 0)); got != "[1.1.0] [1.0.0]" {
		t.Errorf("with a clock that is set back, listed is %s", got)
	}
	if got := look(day(17).Add(-time.Second)); got != "[1.1.0] [1.0.0]" {
		t.Errorf("a second before a week, listed is %s", got)
	}
	if got := look(day(17)); got != "1.1.0 1.0.0" {
		t.Errorf("after a week, listed is %s", got)
	}
	if got := look(day(1)); got != "1.1.0 1.0.0" {
		t.Errorf("with a clock that is set back, what was listed is %s", got)
	}
}

// TestLedgerDamaged: a damaged line is no date, nor is a file about something else or one that is too long. The versions are held
// back from now on, also with Old and AllowUnknown. Other lines count, also those that people have edited.
func TestLedgerDamaged(t *testing.T) {
	t.Parallel()
	const top = "# first seen: registry.example.com/acme/alpha\n"
	for name, test := range map[string]struct{ file, want string }{
		"empty":            {"", "[1.1.0] [1.0.0]"},
		"torn":             {top[:20], "[1.1.0] [1.0.0]"},
		"torn in a line":   {top + "1.0.0 2026-01-01T00:00:00Z listed\n1.1.0 2026-01-0", "1.0.0 [1.1.0]"},
		"no file of text":  {"\x00\xff\xfe", "[1.1.0] [1.0.0]"},
		"of another":       {strings.Replace(top, "alpha", "beta", 1) + "1.0.0 2026-01-01T00:00:00Z listed\n", "[1.1.0] [1.0.0]"},
		"no date":          {top + "1.0.0\n1.1.0 2026-01-01T00:00:00Z\n", "1.1.0 [1.0.0]"},
		"zero date":        {top + "1.0.0 0001-01-01T00:00:00Z listed\n1.1.0 2026-01-01T00:00:00Z\n", "1.1.0 [1.0.0]"},
		"another word":     {top + "1.0.0 2026-01-01T00:00:00Z permitted\n", "[1.1.0] [1.0.0]"},
		"more than a line": {top + "1.0.0 2026-01-01T00:00:00Z listed first\n", "[1.1.0] [1.0.0]"},
		"edited":           {top + "# mine\r\n\n  1.0.0 2026-01-01T02:00:00+02:00 listed \r\n", "1.0.0 [1.1.0]"},
		"twice":            {top + "1.0.0 2026-01-01T00:00:00Z listed\n1.0.0 2026-11-09T00:00:00Z\n1.0.0 2026-02-01T00:00:00Z listed\n", "[1.1.0] [1.0.0]"},
		"too long":         {top + "1.0.0 2026-01-01T00:00:00Z\n" + strings.Repeat("#", 4<<20+1-len(top)-27), "[1.1.0] [1.0.0]"},
		"long":             {top + "1.0.0 2026-01-01T00:00:00Z\n" + strings.Repeat("#", 4<<20-len(top)-27), "1.0.0 [1.1.0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &storage.Memory{}
			write(t, store, alphaFile, test.file)
			p := &cooldown.Providers{Source: providers{dated: dated{"1.0.0": {}, "1.1.0": {}}}}
			for _, step := range []struct {
				day  int
				want string
			}{{10, test.want}, {16, test.want}, {17, "1.1.0 1.0.0"}} {
				p.Rule = cooldown.Rule{Age: week, AllowUnknown: true, Dates: &cooldown.Ledger{Store: store, Old: day(30)}, Now: at(day(step.day))}
				list := must.Get(p.ProviderVersions(t.Context(), alpha))(t)
				var got []string
				for _, r := range list.Versions {
					got = append(got, r.Version.String())
				}
				for _, h := range list.Held {
					got = append(got, "["+h.Release.Version.String()+"]")
				}
				if strings.Join(got, " ") != step.want && !(name == "twice" && step.day == 16) {
					t.Errorf("on day %d, listed is %q, want %s", step.day, got, step.want)
				}
			}
		})
	}
}

// TestLedgerDamagedMemory: a file of damaged lines takes little memory. It measures memory, so it does not run in parallel.
func TestLedgerDamagedMemory(t *testing.T) {
	for _, line := range []string{"\n", "a b\n", "1.0.0 2026-13-26T10:00:00Z\n"} {
		store := &storage.Memory{}
		write(t, store, alphaFile, "# first seen: registry.example.com/acme/alpha\n"+strings.Repeat(line, (4<<20-100)/len(line)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must.Get((&cooldown.Ledger{Store: store}).FirstSeen(t.Context(), cooldown.Subject{Provider: alpha}, []cooldown.Version{{Version: addrs.MustParseVersion("1.0.0")}}))(t)
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 64<<20 {
			t.Errorf("a file of lines %q takes %d MiB", line, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
	}
}

// TestLedgerLimits: a file has 20,000 versions of 128 bytes, and no more. Others count as seen now, each time, so that a registry
// that lies about dates cannot evade the ledger with them.
func TestLedgerLimits(t *testing.T) {
	t.Parallel()
	store := &storage.Memory{}
	list := make([]cooldown.Version, 20_001)
	for i := range list {
		list[i].Version = addrs.MustParseVersion("1.0.0-a" + fmt.Sprintf("%0121d", i))
	}
	of := cooldown.Subject{Provider: alpha}
	young := func(today int, list []cooldown.Version) (n int) {
		ledger := &cooldown.Ledger{Store: store, Old: day(30), Now: at(day(today))}
		for _, at := range must.Get(ledger.FirstSeen(t.Context(), of, list))(t) {
			if at.Equal(day(today)) {
				n++
			}
		}
		return n
	}
	if got := len(list[0].Version.String()); got != 128 {
		t.Fatalf("a version has %d bytes", got)
	}
	if got := young(1, list); got != 1 {
		t.Errorf("of 20,001 versions at the first look, %d count as seen now, want 1", got)
	}
	if got := young(2, list); got != 1 {
		t.Errorf("of 20,001 versions at the second look, %d count as seen now, want 1", got)
	}
	if got := len(file(t, store, alphaFile)); got > 4<<20 {
		t.Errorf("the file has %d bytes", got)
	}
	of.Provider = addrs.MustParseProvider("registry.example.com/acme/beta")
	if got := young(1, []cooldown.Version{list[0], {Version: addrs.MustParseVersion(list[0].Version.String() + "0")}}); got != 1 {
		t.Errorf("of versions with 128 and 129 bytes, %d count as seen now, want 1", got)
	}

	long := strings.Repeat("0", 130)
	rule := cooldown.Rule{Age: week, AllowUnknown: true, Dates: &cooldown.Ledger{Store: &storage.Memory{}}, Now: at(day(20))}
	versions := dated{"1.0.0": day(1)}
	listed(t, versions, rule)
	versions["1.1.0+"+long], versions["1.2.0+"+long] = day(1), time.Time{}
	for range 2 {
		if got, want := listed(t, versions, rule), "1.0.0 [1.2.0+"+long+"] [1.1.0+"+long+"]"; got != want {
			t.Errorf("with long versions of a registry that lies, listed is %s, want %s", got, want)
		}
	}
}

// TestLedgerNames: modules whose names differ only in case share a file, and a provider and a module never share one.
func TestLedgerNames(t *testing.T) {
	t.Parallel()
	store := &storage.Dir{Path: t.TempDir()}
	ledger := &cooldown.Ledger{Store: store}
	for _, text := range []string{"registry.example.com/Acme/network/aws", "registry.example.com/acme/network/aws", "registry.example.com/acme/netWork/aws"} {
		must.Get(ledger.FirstSeen(t.Context(), cooldown.Subject{Module: addrs.MustParseModule(text)}, nil))(t)
	}
	must.Get(ledger.FirstSeen(t.Context(), cooldown.Subject{Provider: addrs.MustParseProvider("bücher.example.com/acme/alpha")}, nil))(t)
	for dir, want := range map[string]string{"modules": "registry.example.com,acme,network,aws.txt", "providers": "xn--bcher-kva.example.com,acme,alpha.txt"} {
		if files := must.Get(store.List(t.Context(), dir))(t); len(files) != 1 || files[0].Name != want {
			t.Errorf("in %s there are %v, want %s", dir, files, want)
		}
	}
}

// TestLedgerCase: another case of a module's name is neither a new first look, nor a way around Include.
func TestLedgerCase(t *testing.T) {
	t.Parallel()
	list := dated{"1.0.0": {}}
	m := &cooldown.Modules{
		Source: modules{dated: list}, Include: []module.Pattern{module.MustParsePattern("registry.example.com/acme/*/*"), {}},
		Rule: cooldown.Rule{Age: week, Dates: &cooldown.Ledger{Store: &storage.Memory{}, Old: day(11)}, Now: at(day(10))},
	}
	must.Get(m.ModuleVersions(t.Context(), network))(t)
	list["1.1.0"] = time.Time{}
	for _, text := range []string{"acme/network/aws", "Acme/network/aws", "acme/NETWORK/aws", "ACME/Network/AWS"} {
		versions := must.Get(m.ModuleVersions(t.Context(), addrs.MustParseModule("registry.example.com/"+strings.Replace(text, "AWS", "aws", 1))))(t)
		if len(versions.Versions) != 1 || len(versions.Held) != 1 {
			t.Errorf("of %s, listed are %v and held %v, want 1.1.0 held", text, versions.Versions, versions.Held)
		}
	}
	m.Include, m.Exclude = nil, m.Include
	if versions := must.Get(m.ModuleVersions(t.Context(), addrs.MustParseModule("registry.example.com/ACME/network/aws")))(t); len(versions.Held) != 1 {
		t.Errorf("Exclude of another case: held are %v, want 1.1.0", versions.Held)
	}
}

// TestLedgerPermit: a version that Permit lets through for one caller stays held back for others.
func TestLedgerPermit(t *testing.T) {
	t.Parallel()
	list := dated{"1.0.0": day(1), "1.1.0": day(10)}
	ledger := &cooldown.Ledger{Store: &storage.Memory{}}
	rule := cooldown.Rule{Age: week, Dates: ledger, Now: at(day(10))}
	for _, permit := range []bool{true, false} {
		p := &cooldown.Providers{Source: providers{dated: list}, Rule: rule, Permit: func(addrs.Provider, addrs.Version) bool { return permit }}
		m := &cooldown.Modules{Source: modules{dated: list}, Rule: rule, Permit: func(addrs.Module, addrs.Version) bool { return permit }}
		want := map[bool]int{true: 0, false: 1}[permit]
		if got := must.Get(p.ProviderVersions(t.Context(), alpha))(t); len(got.Held) != want {
			t.Errorf("Permit says %t: of the provider, held are %v", permit, got.Held)
		}
		if got := must.Get(m.ModuleVersions(t.Context(), network))(t); len(got.Held) != want {
			t.Errorf("Permit says %t: of the module, held are %v", permit, got.Held)
		}
	}
	if text := file(t, ledger.Store, alphaFile); strings.Count(text, "listed") != 1 {
		t.Errorf("the file is\n%s", text)
	}
}

// TestLedgerPartial: a list with gaps is no first look, and removes no version. Its new versions are new.
func TestLedgerPartial(t *testing.T) {
	t.Parallel()
	store := &storage.Memory{}
	p := &cooldown.Providers{Rule: cooldown.Rule{Age: week, Dates: &cooldown.Ledger{Store: store, Old: day(30)}, Now: at(day(10))}}
	look := func(partial bool, texts ...string) (listed, held int) {
		t.Helper()
		list := &provider.Versions{Provider: alpha, Partial: partial}
		for _, text := range texts {
			list.Versions = append(list.Versions, provider.Release{Version: addrs.MustParseVersion(text)})
		}
		got := must.Get(p.Filter(t.Context(), alpha, list))(t)
		return len(got.Versions), len(got.Held)
	}
	if listed, held := look(true, "1.0.0"); listed != 0 || held != 1 {
		t.Errorf("before the first look, %d versions of a partial list are listed", listed)
	}
	if _, err := store.Stat(t.Context(), alphaFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a partial list, Stat of the file: %v, want ErrNotExist", err)
	}
	if listed, _ := look(false, "1.0.0", "1.1.0"); listed != 2 {
		t.Errorf("at the first look, %d versions are listed, want 2", listed)
	}
	if listed, held := look(true, "1.0.0", "1.2.0"); listed != 1 || held != 1 {
		t.Errorf("of a partial list, %d versions are listed and %d held, want 1 and 1", listed, held)
	}
	if listed, held := look(false, "1.0.0", "1.1.0", "1.2.0"); listed != 2 || held != 1 {
		t.Errorf("after a partial list, %d versions are listed and %d held, want 2 and 1", listed, held)
	}
}

// TestLedgerFiles: a registry that has every name fills a ledger with 10,000 files, no more. The others fail, what is in a file goes on.
func TestLedgerFiles(t *testing.T) {
	t.Parallel()
	store := &storage.Memory{}
	for i := range 9_999 {
		write(t, store, fmt.Sprintf("providers/registry.example.com,acme,p%d.txt", i), "")
	}
	ledger := &cooldown.Ledger{Store: store}
	look := func(of cooldown.Subject) error {
		_, err := ledger.FirstSeen(t.Context(), of, nil)
		return err
	}
	must.Do(t, look(cooldown.Subject{Provider: alpha}))
	if err := look(cooldown.Subject{Provider: addrs.MustParseProvider("registry.example.com/acme/beta")}); !errors.Is(err, failure.ErrTooLarge) || !strings.Contains(fmt.Sprint(err), "10000 files in providers, delete some") {
		t.Errorf("FirstSeen of the 10,001st provider: %v, want ErrTooLarge", err)
	}
	must.Do(t, look(cooldown.Subject{Provider: alpha}))
	must.Do(t, look(cooldown.Subject{Module: network}))
}

// TestInAdvance: a version that was listed for one platform is old for another one, which is added later.
func TestInAdvance(t *testing.T) {
	t.Parallel()
	ledger := &cooldown.Ledger{Store: &storage.Memory{}}
	for _, look := range []struct {
		day       int
		platforms []string
		held      int
	}{{1, []string{"windows_arm64"}, 1}, {8, []string{"windows_arm64", "linux_amd64"}, 0}} {
		list := &provider.Versions{Versions: []provider.Release{{Version: addrs.MustParseVersion("1.0.0")}}}
		for _, text := range look.platforms {
			list.Versions[0].Platforms = append(list.Versions[0].Platforms, addrs.MustParsePlatform(text))
		}
		p := &cooldown.Providers{Rule: cooldown.Rule{Age: week, Dates: ledger, Now: at(day(look.day))}}
		if got := must.Get(p.Filter(t.Context(), alpha, list))(t); len(got.Held) != look.held {
			t.Errorf("on day %d, with %q, %d versions are held, want %d", look.day, look.platforms, len(got.Held), look.held)
		}
	}
}

// counting is a store that counts and can fail.
type counting struct {
	storage.Store
	opened, written atomic.Int32
	open, write     error
	before          func(name string) // called before each write
}

func (c *counting) Open(ctx context.Context, name string) (*storage.File, error) {
	c.opened.Add(1)
	if c.open != nil {
		return nil, c.open
	}
	return c.Store.Open(ctx, name)
}

func (c *counting) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	c.written.Add(1)
	if c.before != nil {
		c.before(name)
	}
	if c.write != nil {
		return c.write
	}
	return c.Store.Write(ctx, name, content, was)
}

// TestLedgerFails: if the ledger cannot be read or written, the list fails, so nothing young is listed. A store that always has a
// conflict is tried 10 times, which the error says.
func TestLedgerFails(t *testing.T) {
	t.Parallel()
	disk := &fs.PathError{Op: "open", Path: "x", Err: errors.New("disk on fire")}
	for name, test := range map[string]struct {
		store  *counting
		writes int32
		text   string
	}{
		"read":     {&counting{open: disk}, 0, "disk on fire"},
		"write":    {&counting{write: disk}, 1, "disk on fire"},
		"conflict": {&counting{write: storage.ErrConflict}, 10, "the ledger " + alphaFile + ": " + storage.ErrConflict.Error() + ", 10 times"},
	} {
		store := test.store
		store.Store = &storage.Memory{}
		p := &cooldown.Providers{Source: providers{dated: dated{"1.0.0": {}}}, Rule: cooldown.Rule{Age: week, AllowUnknown: true, Dates: &cooldown.Ledger{Store: store, Old: day(30)}}}
		list, err := p.ProviderVersions(t.Context(), alpha)
		if e, ok := errors.AsType[*failure.Error](err); !ok || list != nil || e.Subject != alpha.String() || store.written.Load() != test.writes || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: ProviderVersions returned %v, %v after %d writes, want an error with %q after %d", name, list, err, store.written.Load(), test.text, test.writes)
		}
	}
}

// TestEnds: a list and a filter end with the context, also while the store always has a conflict.
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *cooldown.Ledger) error{
		"FirstSeen": func(ctx context.Context, l *cooldown.Ledger) error {
			_, err := l.FirstSeen(ctx, cooldown.Subject{Provider: alpha}, nil)
			return err
		},
		"Record": func(ctx context.Context, l *cooldown.Ledger) error {
			return l.Record(ctx, cooldown.Look{Of: cooldown.Subject{Provider: alpha}}, nil)
		},
		"ProviderVersions": func(ctx context.Context, l *cooldown.Ledger) error {
			_, err := (&cooldown.Providers{Source: providers{dated: dated{"1.0.0": {}}}, Rule: cooldown.Rule{Age: week, Dates: l}}).ProviderVersions(ctx, alpha)
			return err
		},
		"ModuleVersions": func(ctx context.Context, l *cooldown.Ledger) error {
			_, err := (&cooldown.Modules{Source: modules{dated: dated{"1.0.0": {}}}, Rule: cooldown.Rule{Age: week, Dates: l}}).ModuleVersions(ctx, network)
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		store := &counting{Store: &storage.Memory{}, write: storage.ErrConflict, before: func(string) { cancel() }}
		if err := call(ctx, &cooldown.Ledger{Store: store}); !errors.Is(err, context.Canceled) || store.written.Load() != 1 {
			t.Errorf("%s returned %v after %d writes", name, err, store.written.Load())
		}
		cancel()
	}
}

// TestCost: a list costs one request with the dates of the list, and with a ledger one object is read. Only changes are written,
// all of a list at once.
func TestCost(t *testing.T) {
	t.Parallel()
	client, reg := registry(map[string]string{"1.0.0": "2000-01-01T00:00:00Z", "1.1.0": ""})
	must.Get(client.ProviderVersions(t.Context(), alpha))(t) // discovery
	store := &counting{Store: &storage.Memory{}}
	for _, step := range []struct {
		rule                     cooldown.Rule
		requests, opened, writes int
	}{
		{cooldown.Rule{Age: week, Now: at(day(1))}, 1, 0, 0},
		{cooldown.Rule{Age: week, Now: at(day(1)), Dates: &cooldown.Ledger{Store: store}}, 1, 1, 1},
		{cooldown.Rule{Age: week, Now: at(day(2)), Dates: &cooldown.Ledger{Store: store}}, 1, 1, 0},
		{cooldown.Rule{Age: week, Now: at(day(8)), Dates: &cooldown.Ledger{Store: store}}, 1, 1, 1},
		{cooldown.Rule{Age: week, Now: at(day(9)), Dates: &cooldown.Ledger{Store: store}}, 1, 1, 0},
	} {
		before := len(reg.Requests())
		store.opened.Store(0)
		store.written.Store(0)
		must.Get((&cooldown.Providers{Source: client, Rule: step.rule}).ProviderVersions(t.Context(), alpha))(t)
		if got := [3]int{len(reg.Requests()) - before, int(store.opened.Load()), int(store.written.Load())}; got != [3]int{step.requests, step.opened, step.writes} {
			t.Errorf("on %v: requests, objects read and written are %d, want %d", step.rule.Now(), got, [3]int{step.requests, step.opened, step.writes})
		}
	}
}

// member returns the versions that the n-th of many processes sees: some of its own, and some that all see.
func member(n int) []cooldown.Version {
	var list []cooldown.Version
	for i := range 5 {
		list = append(list, cooldown.Version{Version: addrs.MustParseVersion(fmt.Sprintf("1.%d.%d", n, i))}, cooldown.Version{Version: addrs.MustParseVersion(fmt.Sprintf("2.0.%d", i))})
	}
	return list
}

// wantAll checks that the file has an entry for each version of the members, and that all see the same date.
func wantAll(t *testing.T, store storage.Store, members int) {
	t.Helper()
	text := file(t, store, alphaFile)
	if got, want := strings.Count(text, "\n"), 1+5+5*members; got != want {
		t.Errorf("the file has %d lines, want %d:\n%s", got, want, text)
	}
	for n := range members {
		for i, at := range must.Get((&cooldown.Ledger{Store: store}).FirstSeen(t.Context(), cooldown.Subject{Provider: alpha}, member(n)))(t) {
			if at.IsZero() {
				t.Errorf("version %d of process %d has no date", i, n)
			}
		}
	}
}

// TestLedgerWriters: 20 writers with ledgers of their own lose no version, and all get the date that stays.
func TestLedgerWriters(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := cooldown.Subject{Provider: alpha}
			dates := make([][]time.Time, 20)
			var wg sync.WaitGroup
			for n := range dates {
				own := store
				if dir, ok := store.(*storage.Dir); ok {
					own = &storage.Dir{Path: dir.Path}
				}
				wg.Go(func() {
					var err error
					if dates[n], err = (&cooldown.Ledger{Store: own, Now: at(day(n + 1))}).FirstSeen(t.Context(), of, member(n)); err != nil {
						t.Errorf("writer %d: %v", n, err)
					}
				})
			}
			wg.Wait()
			wantAll(t, store, 20)
			for n := range dates {
				if again := must.Get((&cooldown.Ledger{Store: store}).FirstSeen(t.Context(), of, member(n)))(t); !slices.EqualFunc(again, dates[n], time.Time.Equal) {
					t.Errorf("writer %d got %v, later it is %v", n, dates[n], again)
				}
			}
		})
	}
}

var (
	childDir = flag.String("cooldown.dir", "", "be a process that writes to the ledger in this `directory`; see TestChild")
	childN   = flag.Int("cooldown.n", 0, "which process it is")
	childAt  = flag.String("cooldown.stop", "", "where it stops: start, before or after its write")
)

// TestChild is another process of TestLedgerProcesses and TestLedgerKilled.
func TestChild(t *testing.T) {
	if *childDir == "" {
		return
	}
	if *childAt == "start" {
		disktest.Stop("start")
	}
	var once sync.Once
	store := &counting{Store: &storage.Dir{Path: *childDir}, before: func(string) {
		if *childAt == "before" {
			once.Do(func() { disktest.Stop("before") })
		}
	}}
	if _, err := (&cooldown.Ledger{Store: store}).FirstSeen(context.Background(), cooldown.Subject{Provider: alpha}, member(*childN)); err != nil {
		t.Fatal(err)
	}
	if *childAt == "after" {
		disktest.Stop("after")
	}
}

func startChild(t *testing.T, dir string, n int, stop string) *disktest.Process {
	t.Helper()
	return disktest.Start(t, stop, "-cooldown.dir="+dir, fmt.Sprint("-cooldown.n=", n), "-cooldown.stop="+stop)
}

// TestLedgerProcesses: 20 processes at once lose no version.
func TestLedgerProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var list []*disktest.Process
	for n := range 20 {
		list = append(list, startChild(t, dir, n, "start"))
	}
	var wg sync.WaitGroup
	for n, p := range list {
		wg.Go(func() {
			if err := p.GoOn(); err != nil {
				t.Errorf("process %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	wantAll(t, &storage.Dir{Path: dir}, 20)
}

// TestLedgerKilled: a process that is killed before its write has changed nothing, and after it, what it has recorded stays. Another process goes on.
func TestLedgerKilled(t *testing.T) {
	t.Parallel()
	store := &storage.Dir{Path: t.TempDir()}
	startChild(t, store.Path, 1, "before").Kill()
	if _, err := store.Stat(t.Context(), alphaFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a kill before the write: %v", err)
	}
	startChild(t, store.Path, 1, "after").Kill()
	if text := file(t, store, alphaFile); strings.Count(text, "\n") != 11 {
		t.Errorf("after a kill behind the write, the file is\n%s", text)
	}
	alive := startChild(t, store.Path, 0, "before")
	must.Get((&cooldown.Ledger{Store: store}).FirstSeen(t.Context(), cooldown.Subject{Provider: alpha}, member(2)))(t)
	if err := alive.GoOn(); err != nil { // its write has a conflict
		t.Errorf("the running process: %v", err)
	}
	if text := file(t, store, alphaFile); strings.Count(text, "\n") != 1+5+15 {
		t.Errorf("after a conflict, the file is\n%s", text)
	}
}

// FuzzLedger: whatever a file contains, each version gets a date, the same one at the next look, and a file with one line each.
func FuzzLedger(f *testing.F) {
	f.Add([]byte("# first seen: registry.example.com/acme/alpha\n1.0.0 2026-11-20T10:00:00Z first listed\n1.1.0 2026-11-20T10:00:00Z\n"))
	f.Add([]byte("# first seen: registry.example.com/acme/alpha\r\n1.0.0 9999-12-31T23:59:59-01:00\n1.0.0 0000-01-01T00:00:00Z\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		store := &storage.Memory{}
		must.Do(t, store.Write(t.Context(), alphaFile, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), ""))
		ledger := &cooldown.Ledger{Store: store, Now: at(day(1))}
		list := []cooldown.Version{{Version: addrs.MustParseVersion("1.0.0")}, {Version: addrs.MustParseVersion("1.1.0")}, {Version: addrs.MustParseVersion("3.0.0")}}
		of := cooldown.Subject{Provider: alpha}
		first := must.Get(ledger.FirstSeen(t.Context(), of, list))(t)
		text := file(t, store, alphaFile)
		again := must.Get(ledger.FirstSeen(t.Context(), of, list))(t)
		for i := range list {
			if first[i].IsZero() || !first[i].Equal(again[i]) || first[i].Year() > 9999 {
				t.Errorf("%s was seen %v, then %v", list[i].Version, first[i], again[i])
			}
		}
		if now := file(t, store, alphaFile); now != text {
			t.Errorf("the second look changed\n%q to\n%q", text, now)
		}
		if _, err := time.Parse(time.RFC3339, first[0].Format(time.RFC3339)); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkFilter filters a list of 2,000 versions.
func BenchmarkFilter(b *testing.B) {
	list := &provider.Versions{Provider: alpha}
	for i := range 2000 {
		list.Versions = append(list.Versions, provider.Release{Version: addrs.MustParseVersion(fmt.Sprintf("1.%d.0", 2000-i)), Discovered: day(1).Add(-time.Duration(i) * time.Hour)})
	}
	for name, dates := range map[string]cooldown.Dates{"list": nil, "ledger": &cooldown.Ledger{Store: &storage.Memory{}}} {
		b.Run(name, func(b *testing.B) {
			p := &cooldown.Providers{Rule: cooldown.Rule{Age: week, Dates: dates, Now: at(day(2))}}
			for b.Loop() {
				if filtered, err := p.Filter(b.Context(), alpha, list); err != nil || len(filtered.Held) != 144 {
					b.Fatal(err, len(filtered.Held))
				}
			}
		})
	}
}
