//! The formats that stored records outlive upgrades in.

mod corruption;
mod golden;
mod round_trip;

/// The bytes of an annotated hex dump: of each line, what stands before the bar.
fn hex(dump: &str) -> Vec<u8> {
    let digits: Vec<u8> = dump
        .lines()
        .flat_map(|line| line.split('|').next())
        .flat_map(str::chars)
        .filter(|character| !character.is_whitespace())
        .map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap())
        .collect();
    assert_eq!(digits.len() % 2, 0, "a digit is missing");
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}
