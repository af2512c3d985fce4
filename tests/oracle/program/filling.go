package main

import (
	"fmt"
	"math/rand"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"time"
)

const deepest = 8

// filler sets every field it can reach to a random value that is not the zero one.
type filler struct {
	random *rand.Rand
}

func (f filler) fill(pointer reflect.Value) {
	f.set(pointer.Elem(), 0)
}

func (f filler) set(value reflect.Value, depth int) {
	if depth > deepest || !value.CanSet() || f.setKnown(value) {
		return
	}

	switch value.Kind() { //nolint:exhaustive
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		f.set(value.Elem(), depth+1)
	case reflect.Struct:
		for i := range value.NumField() {
			f.set(value.Field(i), depth+1)
		}
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), f.count(value.Type()), 6))
		for i := range value.Len() {
			f.set(value.Index(i), depth+1)
		}
	case reflect.Map:
		f.setMap(value, depth)
	default:
		f.setScalar(value)
	}
}

func (f filler) count(list reflect.Type) int {
	if list.Elem().Kind() == reflect.Uint8 {
		return 6 // a hardware address, where it is one
	}

	return 1 + f.random.Intn(3)
}

func (f filler) setMap(value reflect.Value, depth int) {
	value.Set(reflect.MakeMap(value.Type()))

	for range 1 + f.random.Intn(3) {
		key := reflect.New(value.Type().Key()).Elem()
		item := reflect.New(value.Type().Elem()).Elem()
		f.set(key, depth+1)
		f.set(item, depth+1)
		value.SetMapIndex(key, item)
	}
}

func (f filler) setScalar(value reflect.Value) {
	switch value.Kind() { //nolint:exhaustive
	case reflect.String:
		value.SetString(f.text())
	case reflect.Bool:
		value.SetBool(f.random.Intn(4) > 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int, reflect.Int64:
		value.SetInt(f.number(value.Type()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint, reflect.Uint64:
		value.SetUint(uint64(f.number(value.Type())))
	case reflect.Float32, reflect.Float64:
		value.SetFloat(float64(1+f.random.Intn(1000)) / 4)
	case reflect.Interface:
		if value.NumMethod() == 0 {
			value.Set(reflect.ValueOf(f.text()))
		}
	}
}

// number is one that the type knows: named numbers are enumerations.
func (f filler) number(kind reflect.Type) int64 {
	if kind.PkgPath() == "" {
		return 1 + f.random.Int63n(1<<(kind.Bits()/2-1))
	}

	for range 64 {
		if number := 1 + f.random.Int63n(16); known(kind, number) {
			return number
		}
	}

	return 1
}

// known tells by its text whether an enumeration has the value: others show as `Name(7)`.
func known(kind reflect.Type, number int64) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()

	text := fmt.Sprint(reflect.ValueOf(number).Convert(kind).Interface())

	return !strings.ContainsAny(text, "(%")
}

func (f filler) text() string {
	return fmt.Sprintf("text-%x é", f.random.Int63())
}

// setKnown fills the types of which not every value is a good one.
func (f filler) setKnown(value reflect.Value) bool {
	var known any

	switch value.Interface().(type) {
	case netip.Addr:
		known = f.address()
	case netip.Prefix:
		known = netip.PrefixFrom(f.address(), 1+f.random.Intn(32))
	case netip.AddrPort:
		known = netip.AddrPortFrom(f.address(), uint16(1+f.random.Intn(65535)))
	case time.Time:
		known = time.Unix(1+f.random.Int63n(1<<31), 0).UTC()
	case time.Duration:
		known = time.Duration(1 + f.random.Int63n(1<<40))
	case url.URL:
		known = url.URL{Scheme: "https", Host: fmt.Sprintf("host-%d.example", f.random.Intn(1000))}
	default:
		return false
	}

	value.Set(reflect.ValueOf(known))

	return true
}

func (f filler) address() netip.Addr {
	bytes := make([]byte, 4+12*f.random.Intn(2))
	f.random.Read(bytes)

	address, _ := netip.AddrFromSlice(bytes)

	return address
}
