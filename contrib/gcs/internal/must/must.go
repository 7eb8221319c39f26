// Package must ends a test at an error, for steps that a test needs and does not test.
package must

import "testing"

// Do ends the test if err is not nil.
func Do(t testing.TB, err error) {
	if err != nil {
		t.Helper() // only here: it takes longer than some of what is measured with Do and Get
		t.Fatal(err)
	}
}

// Get returns v. If err is not nil, it ends the test.
//
//	data := must.Get(os.ReadFile(name))(t)
func Get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}
