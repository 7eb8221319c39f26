//go:build !unix

package install_test

func cpu(f func()) float64 { f(); return 0 }
