package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// A target is one fuzz function and what is known of it.
type target struct {
	*workspace
	pkg, fuzz string

	clock, cpu time.Duration // the fuzzer ran so long
	quiet      time.Duration // of it, the last part without a new statement
	known      statements
	kept       []input         // reach statements that the seeds do not
	found      map[string]bool // files of the fuzzer's own corpus
}

// name is PACKAGE/TARGET, the package's path below the module's root.
func (t *target) name() string { return t.pkg + "/" + t.fuzz }

// cache is where the fuzzer keeps what it finds.
func (t *target) cache() string { return filepath.Join(t.tmp, "cache", t.pkg) }

// work runs the target until the options are met.
func (t *target) work(ctx context.Context, o options, words *words) error {
	if err := t.build(ctx, t.pkg, o.covers()); err != nil {
		return err
	}
	dir := filepath.Join(t.cache(), t.fuzz)
	if err := writeInputs(dir, t.kept); err != nil {
		return err
	}
	t.found = map[string]bool{}
	if _, err := readInputs(dir, t.found); err != nil {
		return err
	}
	if o.covers() {
		if err := t.start(ctx); err != nil {
			return err
		}
	}
	if err := t.mix(ctx, o, words); err != nil {
		return err
	}
	for ctx.Err() == nil && (t.clock < o.time || t.cpu < o.cpu || t.quiet < o.quiet) {
		if err := t.slice(ctx, o); err != nil {
			return err
		}
		if !o.covers() {
			continue
		}
		log.Printf("%s: %.0f CPU s, quiet %.0f s, %d statements, kept %d of %d",
			t.name(), t.cpu.Seconds(), t.quiet.Seconds(), len(t.known), len(t.kept), len(t.found))
	}
	return nil
}

// start counts what the seeds reach, and leaves of the kept inputs those that reach more.
func (t *target) start(ctx context.Context) error {
	var err error
	if t.known, err = t.cover(ctx, nil); err != nil {
		return err
	}
	seeds, err := readInputs(filepath.Join(t.workspace.fuzz, t.pkg, "testdata", "fuzz", t.fuzz), map[string]bool{})
	if err != nil {
		return err
	}
	reached, err := t.cover(ctx, seeds)
	if err != nil {
		return err
	}
	maps.Copy(t.known, reached)
	kept := t.kept
	t.kept = nil
	if err := t.minimize(ctx, kept); err != nil {
		t.kept = kept // or -save would lose the rest
		return err
	}
	return nil
}

// slice is how long the fuzzer runs between two counts of the statements.
const slice = time.Minute

// slice runs the fuzzer once and counts the statements its new inputs reach.
func (t *target) slice(ctx context.Context, o options) error {
	missing := max(o.time-t.clock, o.cpu-t.cpu, o.quiet-t.quiet)
	length := min(slice, max(missing, time.Second))
	cpu, err := t.run(ctx, length)
	t.clock += length
	t.cpu += cpu
	if err != nil || !o.covers() {
		return err
	}
	inputs, err := readInputs(filepath.Join(t.cache(), t.fuzz), t.found)
	if err != nil {
		return err
	}
	before := len(t.known)
	if err := t.minimize(ctx, inputs); err != nil {
		return err
	}
	t.quiet += cpu
	if len(t.known) > before {
		t.quiet = 0
	}
	return nil
}

// Before Go 1.27 the fuzzer now and then reports its own deadline as a failure, without a failing
// input (https://go.dev/issue/75804). That says nothing about the target.
var (
	deadline = regexp.MustCompile(`(?m)^ *context deadline exceeded$`)
	failure  = regexp.MustCompile(`Failing input|panic:|hung or terminated`)
)

// run runs the fuzzer and returns the processor time it took.
func (t *target) run(ctx context.Context, length time.Duration) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, t.binaries[t.pkg].fuzz, "-test.run=^$", "-test.fuzz=^"+t.fuzz+"$", "-test.fuzzcachedir="+t.cache(),
		"-test.fuzztime="+length.String(), "-test.fuzzminimizetime=20x", "-test.parallel=1")
	cmd.Dir = filepath.Join(t.workspace.fuzz, t.pkg)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.CombinedOutput()
	var cpu time.Duration
	if cmd.ProcessState != nil {
		// The fuzzer waits for its workers, so their time is in this.
		cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	switch {
	case ctx.Err() != nil, err != nil && deadline.Match(out) && !failure.Match(out):
		return cpu, nil
	case err != nil:
		return cpu, t.failed(t.workspace.fuzz, out)
	case !bytes.Contains(out, []byte("fuzz: elapsed")):
		// Without a function of that name the program has nothing to do and succeeds.
		return cpu, fmt.Errorf("nothing was fuzzed: %s", out)
	}
	return cpu, nil
}

// failed keeps the input on which the target failed, and returns the end of the output.
func (t *target) failed(tree string, out []byte) error {
	const end = 4000
	err := errors.New(string(out[max(0, len(out)-end):]))
	m := regexp.MustCompile(regexp.QuoteMeta(t.fuzz) + `/([0-9a-f]{16})\b`).FindSubmatch(out)
	if m == nil {
		return err
	}
	name := filepath.Join(t.pkg, "testdata", "fuzz", t.fuzz, string(m[1]))
	text, rerr := os.ReadFile(filepath.Join(tree, name))
	if rerr == nil {
		rerr = errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, 0o644))
	}
	return errors.Join(err, rerr)
}

// mix tries inputs mixed from the words of all targets.
func (t *target) mix(ctx context.Context, o options, words *words) error {
	if o.mix == 0 || len(t.kept) == 0 {
		return nil
	}
	before := len(t.known)
	rng := rand.New(rand.NewPCG(o.seed, uint64(len(t.name()))))
	const batch = 5000
	for done := 0; done < o.mix; done += batch {
		inputs := make([]input, min(batch, o.mix-done))
		for i := range inputs {
			inputs[i] = words.mix(rng, t.kept)
		}
		if err := t.minimize(ctx, inputs); err != nil {
			return err
		}
	}
	log.Printf("%s: mixing reached %d more statements, kept %d", t.name(), len(t.known)-before, len(t.kept))
	return writeInputs(filepath.Join(t.cache(), t.fuzz), t.kept)
}
