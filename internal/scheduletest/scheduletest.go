// Package scheduletest runs writers of a store in all orders of their store calls.
//
// Each call of a store is a choice: which actor is next, and whether that actor dies before it, or gets ErrConflict as
// the answer to a write that was done, as from a client that repeats requests whose answer was lost. A schedule is a list
// of choices, run from the start each time. [Explore] runs all schedules with at most so many preemptions: choices that
// leave an actor which could go on.
package scheduletest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/storage"
)

// Disk is what a store contains.
type Disk struct {
	Digests bool // whether revisions are digests; otherwise they count writes
	Locks   bool // whether the store is a storage.Locker
	Files   map[string]File
	Writes  int // number of writes so far

	held map[string]*Actor
}

// File is a file in a Disk.
type File struct {
	Data     []byte
	Revision storage.Revision
}

// Clone returns a copy without held locks.
func (d *Disk) Clone() *Disk {
	return &Disk{Digests: d.Digests, Locks: d.Locks, Files: maps.Clone(d.Files), Writes: d.Writes, held: map[string]*Actor{}}
}

// Write writes a file on the condition of a [storage.Store].
func (d *Disk) Write(name string, data []byte, was storage.Revision) error {
	if d.Files[name].Revision != was {
		return fmt.Errorf("write %s: %w", name, storage.ErrConflict)
	}
	d.Writes++
	revision := storage.Revision(fmt.Sprint("generation ", d.Writes))
	if d.Digests {
		revision = storage.Revision(fmt.Sprintf("%x", sha256.Sum256(data)))
	}
	if d.Files == nil {
		d.Files = map[string]File{}
	}
	d.Files[name] = File{data, revision}
	return nil
}

// Actor is one writer or reader.
type Actor struct {
	Name  string
	Store *Disk
	Do    func(ctx context.Context, s storage.Store) error

	// After a run:
	Dead        bool
	First, Last int // steps of its calls, -1 before the first
	Err         error

	mu      sync.Mutex
	pending []*call // guarded by mu
	done    bool
}

// call is a call of a store that waits for its turn.
type call struct {
	text     string
	lock     string // name of the lock that it waits for
	writes   bool
	do       func() error
	err      error
	finished chan struct{}
}

var errKilled = errors.New("the process is dead")

// wait waits for a turn.
func (a *Actor) wait(ctx context.Context, c *call) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.finished = make(chan struct{})
	a.mu.Lock()
	if a.Dead {
		a.mu.Unlock()
		return errKilled
	}
	a.pending = append(a.pending, c)
	slices.SortStableFunc(a.pending, func(x, y *call) int { return strings.Compare(x.text, y.text) })
	a.mu.Unlock()
	<-c.finished
	return c.err
}

// actorStore is the store of an actor.
type actorStore struct{ a *Actor }

func (s actorStore) Open(ctx context.Context, name string) (f *storage.File, err error) {
	err = s.a.wait(ctx, &call{text: "open " + name, do: func() error {
		file, ok := s.a.Store.Files[name]
		if !ok {
			return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		f = &storage.File{ReadCloser: readAll{bytes.NewReader(file.Data)}, Info: storage.Info{Size: int64(len(file.Data)), Revision: file.Revision}}
		return nil
	}})
	return f, err
}

type readAll struct{ *bytes.Reader }

func (readAll) Close() error { return nil }

func (s actorStore) Stat(ctx context.Context, name string) (info storage.Info, err error) {
	err = s.a.wait(ctx, &call{text: "stat " + name, do: func() error {
		file, ok := s.a.Store.Files[name]
		if !ok {
			return &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
		info = storage.Info{Size: int64(len(file.Data)), Revision: file.Revision}
		return nil
	}})
	return info, err
}

func (s actorStore) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return s.a.wait(ctx, &call{text: "write " + name, writes: true, do: func() error { return s.a.Store.Write(name, data, was) }})
}

func (s actorStore) List(ctx context.Context, dir string) (entries []storage.Entry, err error) {
	err = s.a.wait(ctx, &call{text: "list " + dir, do: func() error {
		below := map[string]storage.Entry{}
		for name, f := range s.a.Store.Files {
			rest, ok := strings.CutPrefix(name, dir+"/")
			if dir == "." {
				rest, ok = name, true
			}
			if first, _, deeper := strings.Cut(rest, "/"); ok && deeper {
				below[first] = storage.Entry{Name: first, IsDir: true}
			} else if ok {
				below[first] = storage.Entry{Name: first, Size: int64(len(f.Data))}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(below)) { // in one order, so that a schedule meets the same calls
			entries = append(entries, below[name])
		}
		return nil
	}})
	return entries, err
}

func (s actorStore) Delete(ctx context.Context, name string) error {
	return s.a.wait(ctx, &call{text: "delete " + name, do: func() error {
		delete(s.a.Store.Files, name)
		return nil
	}})
}

// lockedStore also has locks.
type lockedStore struct{ actorStore }

func (s lockedStore) Lock(ctx context.Context, name string) (func() error, error) {
	err := s.a.wait(ctx, &call{text: "lock " + name, lock: name, do: func() error {
		s.a.Store.held[name] = s.a
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return func() error {
		if s.a.Store.held[name] == s.a {
			delete(s.a.Store.held, name)
		}
		return nil
	}, nil
}

// choice is what may happen next.
type choice struct {
	actor *Actor
	call  *call
	what  string // run, die or lose
}

func (c choice) String() string { return c.actor.Name + " " + c.what + " " + c.call.text }

// Limits are how many unusual choices a schedule may have.
type Limits struct{ Preemptions, Deaths, Losses int }

func (l Limits) less(n Limits) Limits {
	return Limits{l.Preemptions - n.Preemptions, l.Deaths - n.Deaths, l.Losses - n.Losses}
}

func (l Limits) ok() bool { return l.Preemptions >= 0 && l.Deaths >= 0 && l.Losses >= 0 }

// point is where a schedule could have gone on in another way.
type point struct {
	costs []Limits // of each choice; the first costs nothing
	taken int
}

// execution is one run of actors.
type execution struct {
	actors []*Actor
	trace  []string
	after  func() error // checks the state after each call
}

// next returns the first call of an actor that need not wait for a lock.
func (a *Actor) next() *call {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.pending {
		if c.lock == "" || a.Store.held[c.lock] == nil {
			return c
		}
	}
	return nil
}

// finish lets a call return.
func (a *Actor) finish(c *call, err error) {
	a.mu.Lock()
	a.pending = slices.DeleteFunc(a.pending, func(other *call) bool { return other == c })
	a.mu.Unlock()
	c.err = err
	close(c.finished)
}

func (a *Actor) sleeps() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.done && len(a.pending) == 0
}

// run runs the actors by a schedule, and by the first choice after its end.
func (x *execution) run(schedule []int) (points []point, err error) {
	for _, a := range x.actors {
		a.First, a.Last = -1, -1
		go func() {
			err := a.Do(context.Background(), a.of())
			a.mu.Lock()
			defer a.mu.Unlock()
			a.Err, a.done = err, true
		}()
	}
	defer func() { // no goroutine may outlive the bubble
		if err != nil {
			for _, a := range x.actors {
				x.kill(a)
			}
			synctest.Wait()
		}
	}()
	var current *Actor
	for step := 0; ; step++ {
		synctest.Wait()
		for n := 0; slices.ContainsFunc(x.actors, (*Actor).sleeps); n++ {
			if n > 1000 {
				return points, fmt.Errorf("an actor waits for ever")
			}
			time.Sleep(11 * time.Millisecond)
			synctest.Wait()
		}
		choices, costs := x.choices(current)
		if len(choices) == 0 {
			if slices.ContainsFunc(x.actors, func(a *Actor) bool { return !a.done }) {
				return points, fmt.Errorf("the actors wait for each other")
			}
			return points, nil
		}
		taken := 0
		if step < len(schedule) {
			taken = schedule[step]
		}
		if taken >= len(choices) {
			return points, fmt.Errorf("not deterministic: choice %d of %d at step %d", taken, len(choices), step)
		}
		points = append(points, point{costs, taken})
		if step > 1000 {
			return points, fmt.Errorf("more than 1000 steps")
		}
		c := choices[taken]
		x.trace = append(x.trace, c.String())
		x.take(c, step)
		current = c.actor
		if err := x.after(); err != nil {
			return points, err
		}
	}
}

func (a *Actor) of() storage.Store {
	if a.Store.Locks {
		return lockedStore{actorStore{a}}
	}
	return actorStore{a}
}

// choices returns what may happen next; first what continues.
func (x *execution) choices(current *Actor) (choices []choice, costs []Limits) {
	order := slices.Clone(x.actors)
	if i := slices.Index(order, current); i > 0 {
		order = slices.Concat([]*Actor{current}, order[:i], order[i+1:])
	}
	goesOn := current != nil && current.next() != nil
	for _, a := range order {
		c := a.next()
		if c == nil {
			continue
		}
		cost := Limits{}
		if goesOn && a != current {
			cost.Preemptions = 1
		}
		choices, costs = append(choices, choice{a, c, "run"}), append(costs, cost)
		cost.Deaths = 1
		choices, costs = append(choices, choice{a, c, "die"}), append(costs, cost)
		if cost.Deaths = 0; c.writes {
			cost.Losses = 1
			choices, costs = append(choices, choice{a, c, "lose"}), append(costs, cost)
		}
	}
	return choices, costs
}

// take lets a choice happen.
func (x *execution) take(c choice, step int) {
	if c.actor.First < 0 {
		c.actor.First = step
	}
	c.actor.Last = step
	switch c.what {
	case "run":
		c.actor.finish(c.call, c.call.do())
	case "lose":
		err := c.call.do()
		if err == nil {
			err = fmt.Errorf("%s: %w", c.call.text, storage.ErrConflict)
		}
		c.actor.finish(c.call, err)
	case "die":
		x.kill(c.actor)
	}
}

// kill ends an actor. Its locks become free.
func (x *execution) kill(a *Actor) {
	a.mu.Lock()
	a.Dead = true
	calls := slices.Clone(a.pending)
	a.mu.Unlock()
	maps.DeleteFunc(a.Store.held, func(_ string, holder *Actor) bool { return holder == a })
	for _, c := range calls {
		a.finish(c, errKilled)
	}
}

// Run runs an actor alone. It must be called in a bubble of synctest.
func Run(a *Actor) error {
	x := &execution{actors: []*Actor{a}, after: func() error { return nil }}
	if _, err := x.run(nil); err != nil {
		return fmt.Errorf("%s alone: %w\n\t%s", a.Name, err, strings.Join(x.trace[max(0, len(x.trace)-40):], "\n\t"))
	}
	return a.Err
}

// Explore runs all schedules of actors within limits. start returns the actors of a run, and its checks after each call
// and at the end. Explore returns the number of schedules, and the first failure with its trace.
func Explore(t *testing.T, max Limits, start func() (actors []*Actor, after, end func() error)) (runs int, failure error) {
	t.Helper()
	schedules := [][]int{nil}
	for len(schedules) > 0 && failure == nil {
		schedule := schedules[len(schedules)-1]
		schedules = schedules[:len(schedules)-1]
		var points []point
		runs++
		synctest.Test(t, func(t *testing.T) {
			actors, after, end := start()
			x := &execution{actors: actors, after: after}
			var err error
			if points, err = x.run(schedule); err == nil {
				err = end()
			}
			if err != nil {
				failure = fmt.Errorf("%w\n\t%s", err, strings.Join(x.trace, "\n\t"))
			}
		})
		left := max
		for i, p := range points {
			if i >= len(schedule) {
				for other := range p.costs {
					if other != p.taken && left.less(p.costs[other]).ok() {
						schedules = append(schedules, append(takenBefore(points, i), other))
					}
				}
			}
			left = left.less(p.costs[p.taken])
		}
	}
	return runs, failure
}

// takenBefore returns the choices before a point.
func takenBefore(points []point, n int) []int {
	list := make([]int, n, n+1)
	for i := range list {
		list[i] = points[i].taken
	}
	return list
}

var (
	sets = flag.String("schedules.sets", "", "run the schedules of these `sets` of actors, such as AR,AX")
	most = flag.String("schedules.limits", "2 0 0", "the maximum numbers of preemptions, deaths and lost answers")
)

// Round is a number of sets of actors, such as "AR AX", that run within limits.
type Round struct {
	Sets string
	Max  Limits
}

// Rounds returns the round that the flags describe, or else byDefault.
func Rounds(byDefault ...Round) ([]Round, error) {
	if *sets == "" {
		return byDefault, nil
	}
	var max Limits
	_, err := fmt.Sscan(*most, &max.Preemptions, &max.Deaths, &max.Losses)
	return []Round{{strings.ReplaceAll(*sets, ",", " "), max}}, err
}
