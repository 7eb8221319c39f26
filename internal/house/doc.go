// Package house holds no code, only the tests that keep the whole tree in
// order: which room may import which, that every exported name is documented,
// that no third-party type stands in a public signature, and that the README's
// code compiles and runs.
package house
