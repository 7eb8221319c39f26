package mirrordir_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

// wantGood checks that the report of Check is empty.
func wantGood(t testing.TB, m *mirrordir.Mirror) {
	t.Helper()
	report := mustCheck(t, m, mirrordir.CheckOptions{Policy: policyOf(verify.Policy{})})
	for _, f := range slices.Concat(report.Problems, report.Notes) {
		t.Errorf("%v", f)
	}
	if !report.OK() || report.Archives == 0 {
		t.Errorf("not good: %+v", report)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	wantGood(t, m)
	before := snapshot(t, dir)
	var read atomic.Int32
	report := mustCheck(t, m, mirrordir.CheckOptions{Parallel: 2, Progress: func(e progress.Event) {
		if e.Kind == progress.Checked {
			read.Add(1)
		}
	}})
	var size int64
	for _, name := range files(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && filepath.Ext(name) == ".zip" {
			size += info.Size()
		}
	}
	if report.Providers != 1 || report.Versions != 2 || report.Archives != 6 || report.Bytes != size || read.Load() != 6 {
		t.Errorf("%+v, %d read", report, read.Load())
	}
	if len(before) != len(snapshot(t, dir)) {
		t.Error("Check has written")
	}
	if data, err := json.Marshal(report); err != nil || !strings.Contains(string(data), `"archives":6`) {
		t.Errorf("%s, %v", data, err)
	}
}

// TestTotals checks that Check and Reindex count the same archives, and report each that they read.
func TestTotals(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	copied(home+"/terraform-provider-alpha_1_linux_amd64.zip", archive(v1, linux))(t, dir)
	replaced(archive(v2, linux), "PK")(t, dir)
	drop(recordOf(v2, linux))(t, dir)
	drop(recordOf(v2, windows))(t, dir)
	read := 0
	o := mirrordir.CheckOptions{Progress: func(progress.Event) { read++ }}
	checked := mustCheck(t, m, o)
	if checked.Archives != 7 || read != 7 {
		t.Errorf("Check: %+v, %d read", checked, read)
	}
	read = 0
	reindexed := must.Get(m.Reindex(t.Context(), o))(t)
	if reindexed.Archives != 7 || reindexed.Bytes != checked.Bytes || reindexed.Versions != 2 || read != 2 {
		t.Errorf("Reindex: %+v, %d read, want 2, which have no record", reindexed, read)
	}
}

// TestFindings damages a mirror in one way each.
func TestFindings(t *testing.T) {
	t.Parallel()
	type finding struct {
		kind mirrordir.FindingKind
		name string
	}
	index, doc := home+"/index.json", home+"/1.0.0.json"
	tests := map[string]struct {
		damage damage
		want   []finding
	}{
		"archive altered": {func(t *testing.T, dir string) {
			text := read(t, dir, archive(v1, linux))
			write(t, dir, archive(v1, linux), text[:100]+string(text[100]^1)+text[101:])
		}, []finding{{"changed", archive(v1, linux)}}},
		"archive is another one": {copied(archive(v1, linux), archive(v2, linux)), []finding{{"changed", archive(v1, linux)}}},
		"invalid archive":        {replaced(archive(v1, linux), "PK"), []finding{{"changed", archive(v1, linux)}}},
		"invalid archive without a record": {both(replaced(archive(v1, linux), "PK"), drop(recordOf(v1, linux))),
			[]finding{{"damaged", archive(v1, linux)}, {"unrecorded", archive(v1, linux)}}},
		"archive altered, no record": {both(copied(archive(v1, linux), archive(v2, linux)), drop(recordOf(v1, linux))),
			[]finding{{"changed", archive(v1, linux)}, {"unrecorded", archive(v1, linux)}}},
		"archive is gone":                {drop(archive(v1, linux)), []finding{{"missing", archive(v1, linux)}, {"leftover", recordOf(v1, linux)}}},
		"record is gone":                 {drop(recordOf(v1, linux)), []finding{{"unrecorded", archive(v1, linux)}}},
		"record is damaged":              {replaced(recordOf(v1, linux), "{"), []finding{{"damaged", recordOf(v1, linux)}}},
		"record is of another platform":  {copied(recordOf(v1, linux), recordOf(v1, windows)), []finding{{"changed", archive(v1, linux)}}},
		"sums altered":                   {edited(recordOf(v1, linux), `.zip\n`, `.zop\n`), []finding{{"refused", archive(v1, linux)}}},
		"index is gone":                  {drop(index), []finding{{"unlisted", doc}, {"unlisted", home + "/2.0.0.json"}}},
		"index is damaged":               {replaced(index, "[]"), []finding{{"damaged", index}, {"unlisted", doc}, {"unlisted", home + "/2.0.0.json"}}},
		"index lists too much":           {edited(index, `"1.0.0"`, `"0.5.0": {}, "1.0.0"`), []finding{{"missing", home + "/0.5.0.json"}}},
		"index lists too little":         {edited(index, `"1.0.0": {},`, ``), []finding{{"unlisted", doc}}},
		"document is gone":               {drop(doc), []finding{{"missing", doc}, {"unlisted", archive(v1, linux)}, {"unlisted", archive(v1, darwin)}, {"unlisted", archive(v1, windows)}}},
		"document is damaged":            {replaced(doc, "{"), []finding{{"damaged", doc}, {"unlisted", archive(v1, linux)}, {"unlisted", archive(v1, darwin)}, {"unlisted", archive(v1, windows)}}},
		"document states another hash":   {edited(doc, `"zh:`, `"zh:`+strings.Repeat("0", 64)+`", "zh:`), []finding{{"changed", archive(v1, darwin)}}},
		"document leads out":             {edited(doc, `"url": "`, `"url": "https://example.com/`), []finding{{"external", doc}, {"unlisted", archive(v1, darwin)}}},
		"document lists a stranger":      {edited(doc, `"archives": {`, `"archives": {"plan9_mips": {"url": "x.zip"},`), []finding{{"missing", home + "/x.zip"}}},
		"document lists what is private": {edited(doc, `"archives": {`, `"archives": {"plan9_mips": {"url": "../../../.tofureg/x.zip"},`), []finding{{"missing", ".tofureg/x.zip"}}},
		"empty document, not listed":     {replaced(home+"/3.0.0.json", `{"archives": {}}`), nil},
		"empty document, listed": {both(replaced(home+"/3.0.0.json", `{"archives": {"linux_amd64": null}}`), edited(index, `"2.0.0"`, `"3.0.0": {}, "2.0.0"`)),
			[]finding{{"missing", home + "/3.0.0.json"}}},
		"null entry":      {edited(doc, `"archives": {`, `"archives": {"plan9_mips": null,`), nil},
		"unfinished file": {replaced(".tofureg/.tofureg-x.part", "x"), nil},
		"other files": {func(t *testing.T, dir string) {
			write(t, dir, home+"/README.md", "x")
			write(t, dir, home+"/3.0.0/linux_amd64/x", "x")
			write(t, dir, "README.md", "x")
			write(t, dir, home+"/terraform-provider-beta_1.0.0_linux_amd64.zip", "x")
			write(t, dir, "Other.Example.com/acme/alpha/x", "x") // another directory on every system
			write(t, dir, "no host/acme/alpha/x", "x")
			write(t, dir, "registry.opentofu.org/-/aws/terraform-provider-aws_1.0.0_linux_amd64.zip", "x")
			write(t, dir, home+"/terraform-provider-alpha_1.0.0_plan9_arm_extra.zip", "x")
		}, []finding{{"ignored", "registry.opentofu.org/-/aws"}, {"ignored", home + "/terraform-provider-alpha_1.0.0_plan9_arm_extra.zip"}, {"ignored", "README.md"}, {"ignored", home + "/terraform-provider-beta_1.0.0_linux_amd64.zip"}, {"ignored", "Other.Example.com/acme/alpha"}, {"ignored", "no host/acme/alpha"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir, _, _ := filled(t)
			test.damage(t, dir)
			report := mustCheck(t, m, mirrordir.CheckOptions{})
			var got, want []string
			for _, f := range slices.Concat(report.Problems, report.Notes) {
				got = append(got, string(f.Kind)+" "+f.Name)
				if f.Detail == "" || strings.ContainsAny(f.String(), "\n\r") {
					t.Errorf("detail of %q", f)
				}
			}
			problems := 0
			for _, f := range test.want {
				want = append(want, string(f.kind)+" "+f.name)
				if f.kind == "missing" || f.kind == "changed" || f.kind == "damaged" || f.kind == "refused" {
					problems++
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || len(report.Problems) != problems || report.OK() != (problems == 0) {
				t.Errorf("found\n%s\nwant\n%s\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"), report)
			}
		})
	}
}

// TestCheckPolicy checks a mirror by different policies.
func TestCheckPolicy(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	m, _ := newMirror(t)
	mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{})
	dropEvidence(t, m)
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
		t.Errorf("%v", report.Problems)
	}
	report := mustCheck(t, m, mirrordir.CheckOptions{Policy: policyOf(verify.Policy{})})
	if len(report.Problems) != 3 || report.Problems[0].Kind != "refused" || !strings.Contains(report.Problems[0].Detail, "AllowUnchecked") {
		t.Errorf("%v", report.Problems)
	}
	mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{})
	wantGood(t, m)
	report = mustCheck(t, m, mirrordir.CheckOptions{Policy: policyOf(verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(strings.Repeat("0", 40)))(t)})})
	if len(report.Problems) != 3 {
		t.Errorf("with a pin of another key than %s: %v", reg.Key().Public().ID, report.Problems)
	}
}

func TestCheckFails(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Check(ctx, mirrordir.CheckOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := m.Reindex(ctx, mirrordir.CheckOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Reindex, cancelled: %v", err)
	}
	remove(t, dir, ".")
	if _, err := m.Check(t.Context(), mirrordir.CheckOptions{}); err == nil {
		t.Error("no directory: no error")
	}
}

// TestCheckWhileAdding checks that a concurrent Add causes no problems.
func TestCheckWhileAdding(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	m, _ := newMirror(t)
	var versions []addrs.Version
	for _, text := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: text, Platforms: names(three)})
		versions = append(versions, addrs.MustParseVersion(text))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		mustAdd(t, m, client(reg), wants(three, versions...), mirrordir.AddOptions{})
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
			t.Errorf("%v", report.Problems)
			break
		}
	}
	<-done
	wantGood(t, m)
}
