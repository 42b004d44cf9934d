//! Makes a picture of a drawing: a PNG and a PDF file.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};

/// Units of a drawing: half a point each.
const UNITS_PER_INCH: f32 = 144.0;
/// Pixels of a PNG file for a unit of the drawing.
const SCALE: f32 = 2.0;

/// The names and contents of the files.
pub fn pictures(svg: &str) -> Result<[(&'static str, Vec<u8>); 2]> {
    let tree = tree(svg)?;
    Ok([("png", png(&tree)?), ("pdf", pdf(&tree)?)])
}

/// The drawing with its texts laid out in our font.
pub fn tree(svg: &str) -> Result<usvg::Tree> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() };
    Ok(usvg::Tree::from_str(svg, &options)?)
}

fn png(tree: &usvg::Tree) -> Result<Vec<u8>> {
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|of| (of * SCALE).round());
    let mut pixels =
        Pixmap::new(width as u32, height as u32).ok_or_else(|| anyhow!("a figure of no size"))?;
    resvg::render(tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    Ok(pixels.encode_png()?)
}

/// The text of the PDF can be searched and copied.
fn pdf(tree: &usvg::Tree) -> Result<Vec<u8>> {
    use svg2pdf::{ConversionOptions, PageOptions};
    let page = PageOptions { dpi: UNITS_PER_INCH };
    svg2pdf::to_pdf(tree, ConversionOptions::default(), page).map_err(|e| anyhow!("PDF: {e}"))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    #[test]
    fn files_are_what_they_are_called() {
        let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="144" height="72"><text y="40" font-size="18" font-family="sans-serif">text</text></svg>"#;
        let [(_, png), (_, pdf)] = pictures(svg).unwrap();
        assert_eq!(png[..4], *b"\x89PNG");
        assert_eq!(pdf[..4], *b"%PDF");
        let pdf = String::from_utf8_lossy(&pdf).into_owned();
        assert!(pdf.contains("/MediaBox [0 0 72 36]"), "144 units are an inch");
    }

    #[test]
    fn a_picture_has_ink_where_the_text_is() {
        let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="60" height="30" font-family="DejaVu Sans"><text y="20" font-size="18">M</text></svg>"#;
        let decoded = Pixmap::decode_png(&png(&tree(svg).unwrap()).unwrap()).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (120, 60));
        assert!(decoded.pixels().iter().any(|pixel| pixel.alpha() > 200));
    }
}
